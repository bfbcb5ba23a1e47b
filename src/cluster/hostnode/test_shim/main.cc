// The shim as a program of its own, for the tests of ProcessRuntime.

#include "cluster/hostnode/shim.h"

int main(int argc, char** argv) {
  return koord::cluster::runShim(argc - 1, argv + 1);
}

// The shim as a program of its own, for the tests of ProcessRuntime: test_shim DIR.

#include "cluster/hostnode/shim.h"

int main(int argc, char** argv) {
  return argc == 2 ? koord::cluster::runShim(argv[1]) : 2;
}

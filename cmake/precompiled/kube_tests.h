#pragma once

#include "base/virtual_loop.h"
#include "base_tests.h"
#include "kube.h"

#pragma once

#include "kube_tests.h"
#include "scheduler.h"
#include "scheduler/testing/world.h"

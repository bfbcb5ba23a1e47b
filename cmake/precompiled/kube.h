#pragma once

// For what reads and writes objects of Kubernetes.

#include "api/core.h"
#include "api/pod.h"
#include "base.h"
#include "base/log.h"
#include "base/task.h"
#include "kube/client.h"
#include "kube/informer.h"

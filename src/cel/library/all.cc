#include "cel/library/all.h"

#include "cel/library/bindings.h"
#include "cel/library/comprehensions.h"
#include "cel/library/encoders.h"
#include "cel/library/kubernetes_authz.h"
#include "cel/library/kubernetes_format.h"
#include "cel/library/kubernetes_lists.h"
#include "cel/library/kubernetes_quantity.h"
#include "cel/library/kubernetes_semver.h"
#include "cel/library/kubernetes_url.h"
#include "cel/library/lists.h"
#include "cel/library/math.h"
#include "cel/library/messages.h"
#include "cel/library/network.h"
#include "cel/library/optionals.h"
#include "cel/library/regex.h"
#include "cel/library/sets.h"
#include "cel/library/standard.h"
#include "cel/library/strings.h"

namespace koord::cel {

std::vector<const Library*> conformanceLibraries() {
  return {&standardLibrary(), &bindingsLibrary(),       &blockLibrary(), &encodersLibrary(),
          &listsLibrary(),    &comprehensionsLibrary(), &mathLibrary(),  &messagesLibrary(),
          &networkLibrary(),  &optionalsLibrary(),      &regexLibrary(), &setsLibrary(),
          &stringsLibrary()};
}

std::vector<const Library*> kubernetesLibraries() {
  return {&standardLibrary(),
          &optionalsLibrary(),
          &comprehensionsLibrary(),
          &kubernetesStringsLibrary(),
          &setsLibrary(),
          &listsLibrary(),
          &kubernetesListsLibrary(),
          &kubernetesRegexLibrary(),
          &urlLibrary(),
          &quantityLibrary(),
          &kubernetesNetworkLibrary(),
          &formatLibrary(),
          &semverLibrary(),
          &authzLibrary(),
          &messagesLibrary()};
}

}  // namespace koord::cel

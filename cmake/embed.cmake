# cmake -DINPUT=FILE -DOUTPUT=FILE.cc -DNAME=koord::net::kName -P embed.cmake
# writes a source that defines NAME, a std::string_view of what is in INPUT.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
string(REGEX MATCH "^(.*)::([^:]*)$" whole ${NAME})
file(WRITE ${OUTPUT} "#include <string_view>

namespace ${CMAKE_MATCH_1} {

constexpr char kBytes[] = \"${bytes}\";
extern const std::string_view ${CMAKE_MATCH_2};
const std::string_view ${CMAKE_MATCH_2}(kBytes, sizeof kBytes - 1);

}  // namespace ${CMAKE_MATCH_1}
")

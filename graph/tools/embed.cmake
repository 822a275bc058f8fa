# plimsoll_embed(target TABLE name ROOT dir FILES file...)
# Packs files (paths relative to ROOT) into `target`; see graph/base/embedded.h.
function(plimsoll_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 embed "" "TABLE;ROOT" "FILES")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${embed_TABLE}.cc)
  set(sources ${embed_FILES})
  list(TRANSFORM sources PREPEND ${embed_ROOT}/)
  add_custom_command(
    OUTPUT ${output}
    COMMAND plimsoll_embed_tool ${output} ${embed_TABLE} ${embed_ROOT} ${embed_FILES}
    DEPENDS plimsoll_embed_tool ${sources}
    COMMENT "Embedding ${embed_TABLE}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
  # clang counts the characters of a literal.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()

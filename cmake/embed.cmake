# cmake -DOUTPUT=FILE.c -DHEADER=FILE.h -DFOLDER=FOLDER -DASSETS=NAME=FILE,.. -P embed.cmake
# writes a C file in which each NAME is the text of its FILE in FOLDER. The files are plain ASCII.
string(REPLACE "," ";" assets "${ASSETS}")
set(text "/* Written by cmake/embed.cmake. */\n#include \"${HEADER}\"\n")
foreach(asset ${assets})
  string(REGEX MATCH "^([a-z_]+)=(.*)$" found "${asset}")
  set(name ${CMAKE_MATCH_1})
  file(READ "${FOLDER}/${CMAKE_MATCH_2}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes
    "${bytes}")
  string(APPEND text "\nconst char ${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")

# The artifact in the program itself: targets that link `model` load it by its name, and no file lies beside them.
add_library(model OBJECT linked.cpp)
set_source_files_properties(linked.cpp PROPERTIES OBJECT_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/model.intarsia")
target_compile_definitions(model
  PRIVATE MODEL="${CMAKE_CURRENT_SOURCE_DIR}/model.intarsia"
  PUBLIC MODEL_NAME="@NAME@")
# What is assembled is not seen by an optimiser that works on all files at once.
set_target_properties(model PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
target_link_libraries(model PUBLIC intarsia::intarsia)

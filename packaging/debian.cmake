# The Debian package, which `./dev package` makes.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plimsoll)
set(CPACK_PACKAGE_CONTACT "The Plimsoll authors <maintainers@users.noreply.a-seed-96918823.example>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/build/dist)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL commands debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "memory and time of a training step on a GPU, predicted
Plimsoll says whether a training run fits on a GPU, and how long a step takes,
before anything runs: from an ONNX file, a JSON config or a built-in network,
without a GPU. Largest batch, sweeps over configurations, comparison of cards,
a gate for CI that holds predictions against measured runs.
.
plimsoll-calibrate asks cuDNN and times kernels where a card is at hand,
plimsoll-monitor watches a run beside what was predicted for it.")
include(CPack)

# The Debian package: `./carom build package package` writes build/package/carom_VERSION_amd64.deb. CPack packs what the
# install rules name. The libraries that the programs need, and their versions, are read from the programs.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME carom)
set(CPACK_PACKAGE_VENDOR "The carom authors")
set(CPACK_PACKAGE_CONTACT "The carom authors <carom@users.noreply.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox) # for `carom plot` and `carom report`
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "paraview, python3 (>= 3.11), python3-numpy, python3-pandas, python3-lz4")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "carom solves models of rigid bodies, geometrically exact beams and solids
with joints, contacts and impacts. A model is one JSON file; results open in
ParaView.")
# before the removal: the compiled modules that Python has left in the folder of the package
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_BINARY_DIR}/package_scripts/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(CONFIGURE OUTPUT package_scripts/prerm @ONLY CONTENT [[#!/bin/sh
set -e
rm -rf "@CPACK_PACKAGING_INSTALL_PREFIX@/@CAROM_PYTHON_DIR@/carom/__pycache__"
]])

include(CPack)

"""wick as a Conan package: conan create . -s compiler.cppstd=20

The libraries are those of the system, and nothing is downloaded. With -o "&:system_libraries=False" -o "&:torch=False" they are
Conan's, for wick::core: Conan's LibTorch has no CMake package that wick::wick could be built with.
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class Wick(ConanFile):
    name = "wick"
    description = "Input pipelines for LibTorch as one expression of coroutine stages"
    license = "MIT"
    topics = ("libtorch", "data-loading", "training", "coroutines")
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"torch": [True, False], "system_libraries": [True, False]}
    default_options = {"torch": True, "system_libraries": True}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "tools/*"

    def set_version(self):
        header = Path(self.recipe_folder, "include/wick/version.hpp").read_text(encoding="utf-8")
        self.version = re.search(r'version = "([\d.]+)"', header)[1]

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.options.torch and not self.options.system_libraries:
            raise ConanInvalidConfiguration("Conan's LibTorch has no CMake package: take system_libraries=True, or torch=False")

    def requirements(self):
        if self.options.system_libraries:
            return
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("stb/cci.20230920")
        self.requires("libjpeg-turbo/[>=2.1 <4]")
        self.requires("libdeflate/[>=1.14 <2]")

    def generate(self):
        tools = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "TOOLS", "BENCH"):
            tools.variables[f"WICK_BUILD_{part}"] = False
        for part in ("ARROW", "CURL", "LMDB"):
            tools.variables[f"WICK_{part}"] = "OFF"
        tools.variables["WICK_TORCH"] = bool(self.options.torch)
        tools.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # wick's own package says what there is: find_package(wick), wick::wick.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/wick"]

# The kernels, and `_cuda` that runs them. A new kernel is one line in each of these two lists.
set(PYHARNESS_KERNELS
  csrc/kernels/entropy/entropy.cu
  csrc/kernels/pairs/partition/by_partition.cu
  csrc/kernels/pairs/by_sorting.cu
  csrc/kernels/pairs/checks.cu
  csrc/kernels/pairs/dense.cu
  csrc/kernels/pairs/ordering.cu
  csrc/kernels/pairs/positions.cu
  csrc/kernels/pairs/primitives.cu
  csrc/kernels/yardsticks/pair_runs.cu
  csrc/kernels/yardsticks/reading.cu)
set(PYHARNESS_KERNEL_BINDINGS
  csrc/bindings/kernels/kernels.cpp
  csrc/bindings/kernels/entropy.cpp
  csrc/bindings/kernels/pairs.cpp
  csrc/bindings/kernels/yardsticks.cpp)

set(PYHARNESS_CUDA AUTO CACHE STRING "Build _cuda: ON, OFF, or AUTO for when a CUDA compiler works")
set_property(CACHE PYHARNESS_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT PYHARNESS_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PYHARNESS_CUDA is AUTO, ON or OFF, not '${PYHARNESS_CUDA}'")
endif()

if(PYHARNESS_CUDA STREQUAL "OFF")
  message(STATUS "pyharness: built without CUDA, as PYHARNESS_CUDA=OFF asks")
  return()
endif()

# Ends this file, or the configuration where CUDA was asked for.
macro(pyharness_without_cuda reason)
  if(PYHARNESS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PYHARNESS_CUDA=ON needs nvcc 12.8 or newer, on the PATH or in CUDACXX: ${reason}")
  endif()
  message(STATUS "pyharness: built without CUDA: ${reason}")
  return()
endmacro()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  pyharness_without_cuda("there is none that works. Why one was refused is in CMakeFiles/CMakeConfigureLog.yaml of the \
build folder")
endif()
# Asked before the language is enabled, which ends the configuration where nvcc does not know an architecture. Older
# ones lack sm_100 and, in CUB, 64-bit numbers of items.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
string(REGEX MATCH "release ([0-9.]+)" nvcc_version "${nvcc_version}")
if("${CMAKE_MATCH_1}" VERSION_LESS 12.8)
  pyharness_without_cuda("${CMAKE_CUDA_COMPILER} is of release '${CMAKE_MATCH_1}'")
endif()

# For people who change the kernels, machine code for A100, H100/H200 and B200, and PTX of the last for what comes after.
# An install is for this machine: for the GPUs that it has. Where it has none, or one that this does not know, for the
# oldest that is supported, whose PTX a driver compiles for later ones when it is first used.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  if(PYHARNESS_EMULATOR)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
  else()
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE capabilities ERROR_QUIET)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${capabilities}")
    list(TRANSFORM capabilities REPLACE "\\." "")
    list(REMOVE_DUPLICATES capabilities)
    set(CMAKE_CUDA_ARCHITECTURES ${capabilities})
    list(FILTER capabilities EXCLUDE REGEX "^(80|86|89|90|100|120)$") # which nvcc 12.8 knows
    if(capabilities OR NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80)
    endif()
  endif()
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
message(STATUS "pyharness: built with CUDA ${CUDAToolkit_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")

add_library(pyharness_kernels STATIC csrc/kernels/cuda/device.cu ${PYHARNESS_KERNELS})
target_include_directories(pyharness_kernels PUBLIC csrc)
list(JOIN PYHARNESS_WARNINGS "," host_warnings)
target_compile_options(pyharness_kernels PRIVATE -lineinfo -Xcompiler=${host_warnings} -Xptxas=--warn-on-spills)
if(PYHARNESS_STRICT)
  target_compile_options(pyharness_kernels PRIVATE -Werror=all-warnings -Xptxas=--warning-as-error)
endif()
set_target_properties(pyharness_kernels PROPERTIES
  CUDA_STANDARD 17 # CMake before 3.26 knows no CUDA C++20 for this compiler
  CUDA_STANDARD_REQUIRED ON
  CUDA_RUNTIME_LIBRARY Static
  CUDA_VISIBILITY_PRESET hidden
  POSITION_INDEPENDENT_CODE ON)

pybind11_add_module(_cuda ${PYHARNESS_KERNEL_BINDINGS})
target_compile_options(_cuda PRIVATE ${PYHARNESS_WARNINGS} $<$<CONFIG:Release>:-O2>)
set_target_properties(_cuda PROPERTIES UNITY_BUILD ${PYHARNESS_TOGETHER})
target_compile_definitions(_cuda PRIVATE PH_MODULE=_cuda)
target_link_libraries(_cuda PRIVATE pyharness_kernels CUDA::cudart_static)
target_link_options(_cuda PRIVATE -Wl,--exclude-libs,ALL) # the static runtime stays ours
set_target_properties(_cuda PROPERTIES LINKER_LANGUAGE CXX)
install(TARGETS _cuda DESTINATION pyharness)

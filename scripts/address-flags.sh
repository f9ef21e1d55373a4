# To be sourced: how the tests are built with the address sanitizer and instrumented for the coverage-guided fuzzer (LLVM's
# libFuzzer, which the toolchain brings).
address_scratch=.build/sanitize-address
fuzzer=$(find "$(dirname "$(dirname "$(readlink -f "$(command -v "${SWIFT:-swift}")")")")/lib/clang" \
    -name "libclang_rt.fuzzer_no_main-$(uname -m).a" 2>/dev/null | head -1)
address_flags=(--scratch-path "$address_scratch" --sanitize=address)
if [ -n "$fuzzer" ]; then
    address_flags+=(
        -Xswiftc -sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table -Xlinker --export-dynamic
        -Xlinker --whole-archive -Xlinker "$fuzzer" -Xlinker --no-whole-archive -Xlinker -lstdc++)
fi

# How the tests are built; to be sourced. Optimized, as simulations need it, and with what tests may see, which a release
# build has not. One build for the tests, the simulations and the short forms of the slow suites: building takes longest.
test_flags=(--scratch-path .build/tests -Xswiftc -O -Xcc -O2)

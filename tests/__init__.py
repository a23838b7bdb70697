"""The tests of sshfacts. A package only so that `tests.support` can be imported."""

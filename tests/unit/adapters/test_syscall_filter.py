"""The program that the kernel runs before each system call of a worker."""

import os
import struct
import sys

import pytest

from sshfacts.adapters import syscall_filter
from sshfacts.adapters.syscall_filter import system_call_filter

ALLOW, DENY = 0x7FFF0000, 0x00050001
MACHINES = ["aarch64", "x86_64"]


def verdict(program: bytes, architecture: int, number: int) -> int:
    """Run a program of classic BPF as the kernel would; it has no loops, so it ends."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    data = struct.pack("=II", number, architecture)
    position, accumulator = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif code == 0x15:
            position += if_true if accumulator == operand else if_false
        else:
            assert code == 0x06
            return operand


@pytest.mark.parametrize("name", MACHINES)
def test_a_short_list_is_allowed_and_everything_else_denied(name: str):
    machine = syscall_filter._MACHINES[name]
    program = syscall_filter._assemble(machine)
    allowed = {number for number in range(600) if verdict(program, machine.audit, number) == ALLOW}
    assert allowed == set(machine.calls.values())
    assert {verdict(program, machine.audit, number) for number in set(range(600)) - allowed} == {DENY}


@pytest.mark.parametrize("name", MACHINES)
def test_calls_of_another_architecture_are_denied(name: str):
    machine = syscall_filter._MACHINES[name]
    program = syscall_filter._assemble(machine)
    for number in machine.calls.values():
        assert verdict(program, 0x40000003, number) == DENY  # i386
        assert verdict(program, machine.audit, number | 0x40000000) == DENY  # x32


def test_both_machines_allow_the_same_calls():
    first, second = (syscall_filter._MACHINES[name].calls.keys() for name in MACHINES)
    assert first == second


@pytest.mark.parametrize("name", MACHINES)
def test_this_machine_is_asked_for(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "host", "6", "1", name)))
    assert system_call_filter() == syscall_filter._assemble(syscall_filter._MACHINES[name])


def test_an_unknown_machine_has_no_filter(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "host", "6", "1", "sparc64")))
    assert system_call_filter() == b""


def test_a_32_bit_interpreter_has_no_filter(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert system_call_filter() == b""

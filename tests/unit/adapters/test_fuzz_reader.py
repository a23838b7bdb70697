"""A short run of the fuzz script; `scripts/fuzz_reader.py` itself runs long."""

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "fuzz_reader.py"


def test_the_reader_agrees_with_the_standard_library(monkeypatch):
    spec = importlib.util.spec_from_file_location("fuzz_reader", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fuzz_reader", script)  # its dataclass asks for it
    spec.loader.exec_module(script)

    tally = script.run(count=8_000, seed=20_240_229)

    assert tally.differences == []
    assert tally.accepted > 1_000
    assert tally.refused > 4_000

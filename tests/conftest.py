"""What every test has: the mark of its folder, hypothesis profiles, and an environment that decides nothing."""

import os
from pathlib import Path

import hypothesis
import pytest

_INTEGRATION = Path(__file__).parent / "integration"

# A shared machine makes the time of one example meaningless. `thorough` is for a long look, by HYPOTHESIS_PROFILE.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=10_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_INTEGRATION):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(autouse=True)
def _neutral_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what would let the environment of whoever runs the tests change their result."""
    for name in ("IJSON_BACKEND", "NO_COLOR", "FORCE_COLOR", "SSH_AUTH_SOCK"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("SSHFACTS_")]:
        monkeypatch.delenv(name)

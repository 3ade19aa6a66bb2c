"""The steps of a page are taken in its order, each where the one before stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.first_session import SOURCE, START, Step, rendered, steps, walked

PAGE = """\
# A page

    mkdir inner
    cd inner
    greeting=hello; export greeting

Some text.

```python
import os
print(os.environ["greeting"], os.path.basename(os.getcwd()))
```
"""


def test_each_step_goes_on_where_the_one_before_stopped(tmp_path: Path) -> None:
    found = list(walked(steps(PAGE), tmp_path))
    assert [done.step.command for done in found][:3] == ["mkdir inner", "cd inner", "greeting=hello; export greeting"]
    assert found[-1].output == "hello inner\n"


def test_a_step_that_fails_ends_the_session(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        list(walked(iter([Step(command="exit 3"), Step(command="true")]), tmp_path))


def test_the_page_names_no_folder_of_the_recording_machine(tmp_path: Path) -> None:
    found = list(walked(iter([Step(command="echo $HOME")]), tmp_path))
    assert "$ echo $HOME\n~\n" in rendered(found, tmp_path)


def test_the_steps_of_the_start_page_lead_from_the_source_to_a_call() -> None:
    commands = [step.command for step in steps(START.read_text(encoding="utf-8"))]
    wanted = (f"cd {SOURCE}", "pip install", "intarsia compare", "intarsia compile", "intarsia report", "intarsia run")
    places = [next(place for place, command in enumerate(commands) if command.startswith(start)) for start in wanted]
    assert places == sorted(places)
    assert places[0] == 0
    assert not any("REPOSITORY" in command for command in commands)

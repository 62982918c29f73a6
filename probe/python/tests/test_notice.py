"""What compares jobs that are watched with jobs that are not: it reports what differs, and nothing else."""

import ast
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "looked"))
import notice  # noqa: E402

MEMTOP = """#!/bin/sh
[ "$1" = run ] || exit 0
shift 2
touch "$MEMTOP_DIR/$$-1.sock"
WATCHED=1 exec "$@"
"""
JOBS = {
    "a job that does not notice": ("print(1)", ""),
    "a job that prints something else": ("import os; print(os.environ.get('WATCHED'))", "'1\\nexit code 0'"),
    "a job that ends in another way": ("import os; exit('WATCHED' in os.environ)", "exit code 1"),
    "a job that is ended": ("import os; os.kill(os.getpid(), 9 * ('WATCHED' in os.environ))", "exit code -9"),
    "a job that hangs": ("import os\nwhile 'WATCHED' in os.environ: pass", "it did not end"),
}


@pytest.mark.parametrize("case", JOBS)
def test_what_a_job_notices_is_reported_for_both_ways(case, tmp_path, monkeypatch):
    program, wanted = JOBS[case]
    monkeypatch.setattr(notice, "SPARE", 1 if "hangs" in case else 100)
    (memtop := tmp_path / "memtop").write_text(MEMTOP)
    memtop.chmod(0o700)
    (job := tmp_path / "job.py").write_text(program)
    faults = notice.noticed(str(memtop), job)
    assert [fault.split(":")[0] for fault in faults] == (["nobody looks", "looked at"] if wanted else [])
    assert all(wanted in fault for fault in faults)


def test_what_other_jobs_import_is_no_job(tmp_path):
    for name, text in {"one": "import torch\nfrom shared import a", "shared": "", "two": "import shared"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert [job.stem for job in notice.jobs_of(tmp_path)] == ["one", "two"]


def test_the_page_lists_every_job_by_its_first_line():
    page = (HERE.parents[2] / "docs" / "pytorch.md").read_text()
    section = page.partition("## Jobs that must not notice\n")[2].partition("\n## ")[0]
    jobs = {job.stem: ast.get_docstring(ast.parse(job.read_text())) for job in notice.jobs_of(HERE / "jobs")}
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {habit} |" for name, habit in jobs.items()]

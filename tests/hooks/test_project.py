"""Whose memory it is: a project's, whichever clone or worktree an agent works in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from remloom.hooks.project import find_project, normalised


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=N", "-c", "user.email=n@example.com"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--initial-branch=main")
    git(folder, "commit", "--allow-empty", "--message=First")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def tenant(folder: Path) -> str:
    return find_project(str(folder), {}).tenant


def test_clones_of_one_remote_share_a_memory(tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "api", "git@example.com:acme/api.git")
    two = repository(tmp_path / "b" / "api-second", "https://token@EXAMPLE.com/acme/api/")
    assert tenant(one) == tenant(two)


def test_two_repositories_of_one_name_do_not(tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "api", "git@example.com:acme/api.git")
    two = repository(tmp_path / "b" / "api", "git@example.com:other/api.git")
    three, four = repository(tmp_path / "c" / "api"), repository(tmp_path / "d" / "api")
    plain = [tmp_path / "e" / "api", tmp_path / "f" / "api"]
    for folder in plain:
        folder.mkdir(parents=True)
    assert len({tenant(folder) for folder in (one, two, three, four, *plain)}) == 6


@pytest.mark.parametrize("remote", ["", "git@example.com:acme/api.git"])
def test_a_worktree_shares_it_and_says_its_branch(tmp_path: Path, remote: str) -> None:
    main = repository(tmp_path / "api", remote)
    git(main, "worktree", "add", "-b", "fix", str(tmp_path / "api-fix"))
    found = find_project(str(tmp_path / "api-fix"), {})
    assert found.tenant == tenant(main)
    assert (found.branch, found.worktree) == ("fix", str(tmp_path / "api-fix"))
    assert found.commit


def test_a_part_of_a_repository_is_named(tmp_path: Path) -> None:
    main = repository(tmp_path / "api")
    (main / "packages" / "web").mkdir(parents=True)
    found = find_project(str(main / "packages" / "web"), {})
    assert (found.tenant, found.part) == (tenant(main), "packages/web")


def test_a_setting_names_a_project(tmp_path: Path) -> None:
    main = repository(tmp_path / "api", "git@example.com:acme/api.git")
    assert find_project(str(main), {str(tmp_path): "work"}).tenant == "work"
    assert find_project(str(main), {"https://example.com/acme/api": "api"}).tenant == "api"
    assert find_project(str(main), {str(tmp_path / "web"): "web"}).tenant == tenant(main)


@pytest.mark.parametrize(
    "remote",
    ["git@Example.com:acme/api.git", "ssh://git@example.com:22/acme/api", "example.com:acme/api"],
)
def test_addresses_of_one_repository_are_one(remote: str) -> None:
    assert normalised(remote) == "example.com/acme/api"

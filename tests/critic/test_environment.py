"""Which variables children get."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.environment import for_building, for_fetching

NEEDED = (
    *("HOME", "PATH", "LANG", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
    *("RUSTFLAGS", "RUSTC_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"),
    *("CARGO_PROFILE_DEV_DEBUG", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER"),
    *("CARGO_REGISTRIES_OURS_INDEX", "CARGO_BUILD_JOBS", "CC", "CC_x86_64_unknown_linux_musl"),
    *("TARGET_CC", "CXXFLAGS", "PKG_CONFIG_PATH", "PKG_CONFIG_SYSROOT_DIR", "LD_LIBRARY_PATH"),
    *("OPENSSL_DIR", "LIBCLANG_PATH", "PROTOC", "SDKROOT", "NIX_LDFLAGS"),
)
SECRET = (
    *("OPENAI_API_KEY", "TESSERA_LOCAL_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY"),
    *("GITHUB_TOKEN", "DATABASE_URL", "PGPASSWORD", "SSH_AGENT_PID", "CARGO_BUILD_TOKEN"),
    *("CC_API_KEY", "PKG_CONFIG_SECRET", "CARGO_NET_PASSWORD"),
)
NETWORK_ONLY = (
    *("https_proxy", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "CARGO_HTTP_CAINFO"),
    *("CARGO_REGISTRY_TOKEN", "CARGO_REGISTRIES_OURS_TOKEN", "SSH_AUTH_SOCK"),
    *("CARGO_REGISTRIES_OURS_CREDENTIAL_PROVIDER", "CARGO_REGISTRIES_OURS_SECRET_KEY"),
)
OURS_TO_DECIDE = ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_TERM_PROGRESS_WHEN")


@pytest.mark.parametrize("name", NEEDED)
def test_what_builds_need_passes(name: str) -> None:
    assert for_building({name: "x"})[name] == "x"
    assert for_fetching({name: "x"})[name] == "x"


@pytest.mark.parametrize("name", (*SECRET, *OURS_TO_DECIDE, "RUST_LOG", "EDITOR"))
def test_the_rest_stays_behind(name: str) -> None:
    assert name not in for_fetching({name: "x"})


@pytest.mark.parametrize("name", NETWORK_ONLY)
def test_credentials_and_proxies_are_for_fetching_only(name: str) -> None:
    assert name not in for_building({name: "x"})
    assert for_fetching({name: "x"})[name] == "x"


def test_messages_are_plain_and_english_whatever_the_person_prefers() -> None:
    theirs = {"CARGO_TERM_COLOR": "always", "LC_ALL": "fr_FR.UTF-8", "LANGUAGE": "fr"}
    ours = for_building(theirs)
    assert ours["CARGO_TERM_COLOR"] == "never"
    assert ours["LC_MESSAGES"] == "C"
    assert not {"LC_ALL", "LANGUAGE"} & ours.keys()


@given(
    prefix=st.sampled_from(["CARGO_BUILD_", "CARGO_NET_", "CC_", "PKG_CONFIG_", "RUSTC_", ""]),
    word=st.sampled_from(["TOKEN", "SECRET", "PASSWORD", "CREDENTIALS", "API_KEY", "KEY"]),
    suffix=st.sampled_from(["", "_FILE", "_2"]),
)
def test_nothing_secret_looking_reaches_a_build(prefix: str, word: str, suffix: str) -> None:
    name = prefix + word + suffix
    assert name not in for_building({name: "x"})

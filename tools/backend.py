"""The build backend (PEP 517): scikit-build-core, with generated/ made first.

An sdist carries generated/; there a C compiler is all that a build needs.
"""

from __future__ import annotations

from typing import Any

import generate
from scikit_build_core import build as skbuild

Settings = dict[str, Any] | None


def requirements(of_backend: list[str]) -> list[str]:
    """What a build needs: pip downloads the pinned toolchain, where generated/ is not up to date."""
    return of_backend if generate.up_to_date() else [*of_backend, "pip"]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """PEP 517."""
    return requirements(skbuild.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """PEP 660."""
    return requirements(skbuild.get_requires_for_build_editable(config_settings))


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """PEP 517."""
    return requirements(skbuild.get_requires_for_build_sdist(config_settings))


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """PEP 517; the metadata names the licences in generated/."""
    generate.generate_product()
    return skbuild.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Settings = None) -> str:
    """PEP 660."""
    generate.generate_product()
    return skbuild.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """PEP 517."""
    generate.generate_product()
    return skbuild.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """PEP 660."""
    generate.generate_product()
    return skbuild.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """PEP 517."""
    generate.generate_product()
    return skbuild.build_sdist(sdist_directory, config_settings)

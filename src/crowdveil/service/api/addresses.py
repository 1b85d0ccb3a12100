"""Where requests come from, for rate limits; it is not kept."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from fastapi import Request


def address_of(request: Request) -> str:
    """The network address of whoever asks; all of one IPv6 network count as one."""
    return network_of(request.client.host if request.client else "")


def network_of(host: str) -> str:
    """The same for an address as text."""
    try:
        address = ip_address(host)
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)

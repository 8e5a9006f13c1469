//! Ways out over the network, and to the engine. Nothing is sent to an address that could be somebody's, except a
//! connection to the engine's ports on this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};

use super::{Teller, Wanted, errno};
use crate::wire::probe::{Attempt, RAW_SOCKETS, ROUTES};

/// Where engines listen when they listen on a port.
const ENGINE_PORTS: [u16; 2] = [2375, 2376];
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_millis(300);

pub(super) fn run(wanted: &Wanted, teller: &mut Teller) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    teller.saw(Attempt::Interfaces, "", &crate::init::interface_names(&read("/proc/net/dev")).join(","));
    for address in ROUTES {
        teller.result(Attempt::Route, address, route(address).map_err(|error| errno(&error)));
    }
    for name in RAW_SOCKETS {
        let made = if name == "icmp" {
            socket(AddressFamily::Inet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)
        } else {
            socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)
        };
        teller.result(Attempt::RawSocket, name, made.map(drop));
    }
    let abstract_count = read("/proc/net/unix").lines().filter(|line| line.contains(" @")).count();
    teller.saw(Attempt::AbstractSockets, "", &abstract_count.to_string());
    for path in &wanted.sockets {
        let connected = UnixStream::connect(path).map(drop).map_err(|error| errno(&error));
        teller.result(Attempt::EngineSocket, path, connected);
    }
    let gateway = gateway(&read("/proc/net/route"));
    for host in std::iter::once(Ipv4Addr::LOCALHOST).chain(gateway) {
        for port in ENGINE_PORTS {
            let address = SocketAddr::new(IpAddr::V4(host), port);
            let connected = TcpStream::connect_timeout(&address, PATIENCE).map(drop);
            let result = connected.map_err(|error| match error.kind() {
                std::io::ErrorKind::TimedOut => nix::errno::Errno::ETIMEDOUT,
                _ => errno(&error),
            });
            teller.result(Attempt::EnginePort, &address.to_string(), result);
        }
    }
}

/// A datagram socket that is given an address looks its route up and sends nothing.
fn route(address: &str) -> std::io::Result<()> {
    let address: IpAddr =
        address.parse().map_err(|_| std::io::Error::from_raw_os_error(nix::libc::EINVAL))?;
    // Addresses, not text: text would bring the resolver of names into creel-init.
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    UdpSocket::bind(SocketAddr::new(any, 0))?.connect(SocketAddr::new(address, 9))
}

/// The default gateway of the kernel's table, whose numbers are in the order of the machine.
fn gateway(table: &str) -> Option<Ipv4Addr> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (destination, gateway) = (fields.next()?, fields.next()?);
        let number = u32::from_str_radix(gateway, 16).ok().filter(|number| *number != 0)?;
        (destination == "00000000").then(|| Ipv4Addr::from(number.to_ne_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways() {
        let table = "Iface\tDestination\tGateway \tFlags\neth0\t00000000\t010011AC\t0003\neth0\t000011AC\t00000000\t0001\n";
        #[cfg(target_endian = "little")]
        assert_eq!(gateway(table), Some(Ipv4Addr::new(172, 17, 0, 1)));
        assert_eq!(gateway("Iface\tDestination\tGateway\n"), None);
    }
}

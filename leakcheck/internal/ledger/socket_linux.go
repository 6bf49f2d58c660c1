package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// A socket has the kernel's data on a socket.
type socket struct {
	item        int // index of its item
	kind        string
	local, peer endpoint
	path, name  string // of a unix socket, and of its peer
	connected   bool
	listens     bool
	state       string

	_ [0]func() // is not compared: the comparison would be code
}

// tcpStates are in the kernel's order (linux include/net/tcp_states.h).
var tcpStates = [...]string{
	"", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING",
}

// readSocket asks the kernel for addresses and state. It returns nil if fd is not a socket any
// more.
func (p *process) readSocket(fd int) *socket {
	fd, back := p.borrow(fd)
	defer back()
	typ, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
	if err != nil {
		return nil
	}
	local, err := syscall.Getsockname(fd)
	if err != nil {
		return &socket{kind: "socket"} // of a family that package syscall does not know
	}
	s := &socket{}
	peer, err := syscall.Getpeername(fd)
	s.connected = err == nil
	listens, _ := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
	s.listens = listens != 0
	switch a := local.(type) {
	case *syscall.SockaddrUnix:
		s.kind, s.path = "unix socket", a.Name
		if p, ok := peer.(*syscall.SockaddrUnix); ok {
			s.name = p.Name
		}
		return s
	case *syscall.SockaddrNetlink:
		s.kind = "netlink socket"
		return s
	case *syscall.SockaddrLinklayer:
		s.kind = "packet socket"
		return s
	}
	s.local, s.peer = address(local), address(peer)
	switch typ {
	case syscall.SOCK_STREAM:
		s.kind = "socket"
		const info = 11 // TCP_INFO, which begins with the state
		if v, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, info); err == nil && v&0xff < len(tcpStates) {
			s.state = tcpStates[v&0xff]
		}
	case syscall.SOCK_DGRAM:
		s.kind = "udp socket"
	default:
		s.kind = "raw socket"
	}
	return s
}

// An endpoint is an address of the internet. Package net/netip would add 60 KB to each test.
type endpoint struct {
	host string // "" if there is none
	port int
}

func (e endpoint) String() string { return e.host + ":" + strconv.Itoa(e.port) }

func address(sa syscall.Sockaddr) endpoint {
	switch a := sa.(type) {
	case *syscall.SockaddrInet4:
		return endpoint{dotted(a.Addr[:]), a.Port}
	case *syscall.SockaddrInet6:
		return endpoint{host6(a.Addr), a.Port}
	}
	return endpoint{}
}

func dotted(b []byte) string { return fmt.Sprintf("%d.%d.%d.%d", b[0], b[1], b[2], b[3]) }

// host6 writes an IPv6 address without zeros at its beginning, in the brackets that a port needs.
// An IPv4-mapped address is written as an IPv4 address.
func host6(b [16]byte) string {
	const mapped = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff"
	if string(b[:12]) == mapped {
		return dotted(b[12:])
	}
	s, zeros := "", true
	for i := 0; i < 16; i += 2 {
		n := int(b[i])<<8 | int(b[i+1])
		if zeros = zeros && n == 0; !zeros {
			s += fmt.Sprintf(":%x", n)
		}
	}
	if b[0]|b[1] != 0 {
		return "[" + s[1:] + "]"
	}
	if s == "" {
		s = ":"
	}
	return "[:" + s + "]"
}

// nameSockets names sockets by the end that stays the same from one connection to the next: the
// port that this process listens at, or else the peer's address.
func nameSockets(items []Item, sockets []*socket) {
	ports := make(map[int]bool)
	for _, s := range sockets {
		if s.listens && s.local.host != "" {
			ports[s.local.port] = true
		}
	}
	for _, s := range sockets {
		it := &items[s.item]
		it.State = s.state
		name, group := s.kind, s.kind+"s"
		switch {
		case s.kind == "unix socket":
			switch {
			case s.listens:
				name += " listening at " + s.path
			case s.name != "":
				name += " to " + s.name
			case s.path != "" && s.connected:
				name += " accepted at " + s.path
			case s.path != "":
				name += " at " + s.path
			}
		case s.local.host == "":
		case s.listens:
			it.State = ""
			name += " listening at " + s.local.String()
			group += " listening at " + s.local.host
		case s.connected && ports[s.local.port]:
			name += " accepted at " + s.local.String()
			group += " accepted at " + s.local.host
		case s.connected:
			name += " to " + s.peer.String()
			group += " to " + s.peer.host
		case s.local.port != 0:
			name += " at " + s.local.String()
			group += " at " + s.local.host
		}
		if strings.Contains(name, "\x00") {
			name = strconv.Quote(name)
		}
		it.Names = [levels]string{name, group, "sockets"}
	}
}

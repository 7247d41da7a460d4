package machines

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Address is where a run's workers and its coordinator meet.
type Address struct {
	Embed  bool   // the coordinator's own server, which listens there
	Server string // nats://HOST:PORT or tls://HOST:PORT
	Host   string // HOST:PORT
	Run    string // the run's name
}

// Embed is the address of a server in the coordinator, on this machine alone.
const Embed = "embed"

const (
	defaultPort = "4222"
	defaultRun  = "run"
)

var runName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ParseAddress parses embed, embed://HOST:PORT, nats://HOST:PORT or tls://HOST:PORT, each with /NAME of a run where the server has several. A port of 0 is a
// free one of a server in the coordinator.
func ParseAddress(text string) (Address, error) {
	if text == Embed {
		text = "embed://127.0.0.1:" + defaultPort
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return Address{}, fmt.Errorf("address %q: want embed, or a URL such as nats://host:4222 or nats://host:4222/NAME", strings.ReplaceAll(text, "@", "…"))
	}
	if u.User != nil {
		return Address{}, fmt.Errorf("an address with a password, which others see in the list of processes: want %s://%s and --login FILE with USER:PASSWORD",
			u.Scheme, u.Host)
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	a := Address{Host: net.JoinHostPort(host, port), Run: strings.Trim(u.Path, "/")}
	if a.Run == "" {
		a.Run = defaultRun
	}
	if !runName.MatchString(a.Run) {
		return Address{}, fmt.Errorf("name %q of a run: want 1 to 64 letters, digits, _ and -", a.Run)
	}
	switch u.Scheme {
	case "nats", "tls":
		a.Server, a.Embed = u.Scheme+"://"+a.Host, port == "0"
	case Embed:
		a.Embed = true
	default:
		return Address{}, fmt.Errorf("address %q: want embed, nats:// or tls://", text)
	}
	return a, nil
}

// loopback reports whether only this machine reaches the address.
func (a Address) loopback() bool {
	host, _, _ := net.SplitHostPort(a.Host)
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

package leakcheck

import (
	"regexp"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The program comes before test code, as the server that a test runs for its client; each socket
// goes to the goroutine or object that has it; and the program's line that made what grows is among
// the first ten.
func TestEndToEndFakes(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	out, _ := m.run(t, "fakes", nil, "go", "test", "-count=1", "-v", ".")
	port := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	for test, parts := range map[string][]string{
		"TestTunnel": {
			" in example.com/app/fakes.(*Tunnel).forward.func1\n", "+2.00 fd/op: pipe\n", "socket accepted at ADDR (CLOSE_WAIT)\n", "socket to ADDR (ESTABLISHED)\n",
			"created by example.com/app/fakes.(*Tunnel).forward (fakes.go:57)\n",
		},
		"TestGet": {" in net/http.(*persistConn).readLoop\n", "the Body of a response is not closed", "made by example.com/app/fakes.Get (fakes.go:68)\n"},
		"TestClient": {
			"socket to ADDR (ESTABLISHED), with +1.00 *net.TCPConn/op", "made by example.com/app/fakes.(*Client).Dial (fakes.go:88)\n",
			"each belongs to a *net.netFD at op.c.conns[*].conn.fd\n",
		},
		"TestJournal":   {" in example.com/app/fakes.watch\n", "socket to ADDR (ESTABLISHED)\n", "created by example.com/app/fakes.(*Journal).Watch (fakes.go:110)\n"},
		"TestCallback":  {" in example.com/app/fakes.forgetful\n", "socket to ADDR (ESTABLISHED)\n", "created by example.com/app/fakes.Each (fakes.go:124)\n"},
		"TestForgetful": {" in example.com/app/fakes.forgetful\n", "created by example.com/app/fakes.listen.func2 (fakes_test.go:28)\n"},
	} {
		_, text, found := strings.Cut(out, "=== RUN   "+test+"\n")
		text, _, failed := strings.Cut(text, "--- FAIL: "+test+" ")
		_, text, grows := strings.Cut(text, " with every call of op")
		if !found || !failed || !grows {
			t.Errorf("%s: %s", test, out)
			continue
		}
		lines := strings.SplitAfterN(text, "\n", 12)
		wantInOrder(t, port.ReplaceAllString(strings.Join(lines[:11], ""), "ADDR"), parts...)
	}
	for _, test := range []string{"TestTunnelCloses", "TestGetCloses", "TestPing"} {
		if !strings.Contains(out, "--- PASS: "+test+" ") {
			t.Errorf("%s: %s", test, out)
		}
	}
	wantInOrder(t, port.ReplaceAllString(out, "ADDR"), " in example.com/app/fakes.silent, with +1.00 fd/op: socket accepted at ADDR (ESTABLISHED)\n", "--- FAIL: TestTunnel ")
}

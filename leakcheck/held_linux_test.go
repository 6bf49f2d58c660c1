package leakcheck_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

type (
	heldSession struct {
		srv  *heldServer
		data []byte
	}
	heldServer struct {
		sessions map[int]*heldSession
		blobs    [][]byte
	}
)

var (
	heldSessions = map[int]*heldSession{}
	heldSrv      = &heldServer{sessions: map[int]*heldSession{}}
)

// A test goes on to use what it has logged out: the registry holds it all the same.
func TestHeldByTheTestToo(t *testing.T) {
	defer clear(heldSessions)
	s := &heldSession{data: make([]byte, 512)}
	heldSessions[1] = s
	ft := &recordingT{name: "TestHeldToo"}
	if leakcheck.AssertRetained(ft, leakcheck.Root("leakcheck_test.heldSessions").MaxObjects(1)) {
		t.Fatal("passed")
	}
	wantParts(t, strings.Join(ft.errors, "\n"), "found 3 objects, ", "held by the package variable github.com/leakgate/leakgate/leakcheck_test.heldSessions",
		"cutting that is not enough, it is also held by your test itself: the variable s of ")
	runtime.KeepAlive(s)
}

// A server that sessions point back at is the variable's that has it. The log says what the
// sessions lead to.
func TestNearerToAnother(t *testing.T) {
	defer clear(heldSessions)
	defer func() { heldSrv.blobs = nil }()
	for range 1000 {
		heldSrv.blobs = append(heldSrv.blobs, make([]byte, 64))
	}
	for i := range 3 {
		heldSessions[i] = &heldSession{data: make([]byte, 512), srv: heldSrv}
	}
	ft := &recordingT{name: "TestNearer"}
	if !leakcheck.AssertRetained(ft, leakcheck.Root("leakcheck_test.heldSessions").MaxObjects(7)) {
		t.Fatal(strings.Join(ft.errors, "\n"))
	}
	wantParts(t, strings.Join(ft.logs, "\n"), "it also leads to 1,0", " objects, ", " that github.com/leakgate/leakgate/leakcheck_test.heldSrv is nearer to")
}

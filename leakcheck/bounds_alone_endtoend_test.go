package leakcheck

import (
	"regexp"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// boundsBehindOthers are tests with bounds, behind tests that leave some of what is bounded.
const boundsBehindOthers = `package app

import (
	"fmt"
	"os"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

type session struct{ id int }

var sessions = map[int]*session{}

func login(n int) {
	for range n {
		sessions[len(sessions)] = &session{len(sessions)}
	}
}

func TestMain(m *testing.M) {
	fmt.Println("TestMain begins")
	os.Exit(m.Run())
}

func atMost(t *testing.T, n int64) {
	leakcheck.AssertRetained(t, leakcheck.Type[*session]().MaxObjects(n))
}

func TestNothing(t *testing.T) { atMost(t, 0) }
func TestFew(t *testing.T)     { login(2) }
func TestMany(t *testing.T)    { login(30) }
func TestOne(t *testing.T)     { login(1) }
func TestClean(t *testing.T)   { atMost(t, 5) }
func TestSum(t *testing.T)     { atMost(t, 32) }
func TestPart(t *testing.T)    { login(7); atMost(t, 5) }
func TestSubs(t *testing.T) {
	t.Run("leaves", func(t *testing.T) { login(100) })
	t.Run("is clean", func(t *testing.T) { atMost(t, 60) })
}

func TestTwice(t *testing.T) { login(3); atMost(t, 500); leakcheck.AssertRetained(t, leakcheck.Type[*session]().MaxBytes(40)) }

func TestNeedsEarlier(t *testing.T) {
	if len(sessions) == 0 {
		t.Skip("there is no session")
	}
	atMost(t, 5)
}
`

// TestEndToEndBoundsBehindOthers checks that the message of a broken bound says which share of it
// the test has, and which test left the rest.
func TestEndToEndBoundsBehindOthers(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	m.empty(t)
	m.write(t, "app_test.go", boundsBehindOthers)
	if out, ok := m.run(t, ".", nil, "go", "test", "-c", "-o", "app.test", "."); !ok {
		t.Fatal(out)
	}
	shares := func(args ...string) map[string]string {
		t.Helper()
		out, ok := m.run(t, ".", nil, append([]string{"./app.test"}, args...)...)
		assert.False(t, ok)
		found := make(map[string]string)
		for _, failed := range regexp.MustCompile(`(?s)--- FAIL: (\S+) \([^)]*\)\n[^-]*?more is retained[^\n]*\n *([^\n]*)\n`).FindAllStringSubmatch(out, -1) {
			found[failed[1]] = failed[2]
		}
		return found
	}
	const passes = "run alone, in a process of its own, this test passes: what breaks the bound was left by "
	const part = "run alone, in a process of its own, this test has of it: Type[*app.session]().MaxObjects(5): found 7 objects, 56 B: 2 objects more than allowed"
	assert.Equal(t, map[string]string{
		"TestClean":         passes + "TestMany",
		"TestSum":           passes + "TestOne and tests before it",
		"TestPart":          part,
		"TestSubs/is_clean": passes + "another subtest of TestSubs",
		"TestTwice":         passes + "TestMany",
		"TestNeedsEarlier":  "what other tests left may count: this test could not be judged in a process of its own: it ended there without this assertion",
	}, shares())
	assert.Equal(t, map[string]string{"TestPart": ""}, shares("-test.run=^TestPart"), "no other test ran")
	assert.Equal(t, map[string]string{"TestPart": part, "TestNothing": passes + "another test"}, shares("-test.run=Part|Nothing", "-test.count=2"))
	assert.Equal(t, map[string]string{"TestTwice": passes + "an earlier run of the same test"}, shares("-test.run=Twice", "-test.count=2"))
}

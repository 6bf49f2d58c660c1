package finding

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

var sorterModules = &Modules{
	Own: []string{"example.com/app"}, Deps: map[string]string{"example.com/dep": "v1.2.0"}, Std: symbol.NamedModules(nil),
	Handings:    func(string) []source.Handing { return nil },
	Ends:        func(string) string { return "" },
	Sweeps:      func(string, string) string { return "" },
	OnlyTests:   func(string) string { return "" },
	TestsAssign: func(string) bool { return false },
	Ignored:     func(...string) (string, bool) { return "", false },
}

// grows returns a group in which these variables grow; without variables it passes.
func grows(functions string, variables ...string) drive.Exploration {
	r := &verdict.Result{Schema: verdict.Schema, Verdict: verdict.Pass}
	for _, v := range variables {
		r.Verdict = verdict.Fail
		r.Bounds = append(r.Bounds, verdict.Bound{
			Selector: "AssertNoGrowth: " + v, Path: v, Growth: "+1.00 *int/op", Verdict: verdict.Fail,
			Holder: &verdict.Holder{Kind: "global", Root: v, Package: symbol.Package(v)},
		})
	}
	return drive.Exploration{Functions: strings.Fields(functions), Record: r}
}

func report(groups ...drive.Exploration) *drive.Report {
	r := &drive.Report{Groups: groups}
	for _, name := range groups[0].Functions {
		r.Functions = append(r.Functions, drive.Tried{Name: name, Status: repeat.OK})
	}
	return r
}

func newSorter(t *testing.T) *Sorter {
	return NewSorter(t.TempDir(), func(pkg string, functions []string) string {
		return "again " + pkg + " " + strings.Join(functions, ",")
	})
}

func (s *Sorter) record(t *testing.T, pkg, test string) *verdict.Result {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.folder(pkg, test), verdict.FileName))
	require.NoError(t, err)
	var r verdict.Result
	require.NoError(t, json.Unmarshal(data, &r))
	return &r
}

// A root is one finding, of the first test that feeds it; its message names the others.
func TestOneFindingForARoot(t *testing.T) {
	s := newSorter(t)
	p, err := s.Add("example.com/app", sorterModules, report(
		grows("TestA TestB", "example.com/app.x", "example.com/dep.y"), grows("TestA"), grows("TestB", "example.com/app.x", "example.com/dep.y"),
	))
	require.NoError(t, err)
	require.Len(t, p.Failures, 1)
	require.Equal(t, "TestB", p.Failures[0].Test)
	require.Equal(t, 2, p.Repeated)
	require.NotContains(t, p.Failures[0].Message, "maybe others")

	p, err = s.Add("example.com/app/sub", sorterModules, report(grows("TestC", "example.com/app.x")))
	require.NoError(t, err)
	require.Empty(t, p.Failures)
	require.Equal(t, verdict.Pass, s.record(t, "example.com/app/sub", Whole).Verdict)

	require.NoError(t, s.LeaveFindings())
	r := s.record(t, "example.com/app", "TestB")
	require.Equal(t, verdict.Fail, r.Verdict)
	require.Len(t, r.Bounds, 1, "the dependency's is none of ours")
	for _, want := range []string{
		"+1.00 *int/op via example.com/app.x\n    fed by TestB in example.com/app\n           TestC in example.com/app/sub\n",
		"1 more of what follows is no finding of this test", "again example.com/app TestB", `t.Run("again", TestB)`,
	} {
		require.Contains(t, r.Message, want)
	}
	require.Equal(t, []string{"in a dependency, example.com/dep v1.2.0: +1.00 *int/op via example.com/dep.y; fed by TestB in example.com/app"}, s.Notes(false))
}

// A root that grows in a group and in none of its parts is no finding. If a part was not explored,
// it is a finding of the whole group.
func TestGroups(t *testing.T) {
	s := newSorter(t)
	p, err := s.Add("example.com/app", sorterModules, report(grows("TestA TestB", "example.com/app.x"), grows("TestA"), grows("TestB")))
	require.NoError(t, err)
	require.Empty(t, p.Failures)
	require.Len(t, s.Notes(false), 1)
	require.Contains(t, s.Notes(false)[0], "in no part of the tests")

	s = newSorter(t)
	p, err = s.Add("example.com/app", sorterModules, report(grows("TestA TestB TestC", "example.com/app.x"), grows("TestA")))
	require.NoError(t, err)
	require.Len(t, p.Failures, 1)
	require.Equal(t, "TestA and 2 more", p.Failures[0].Test)
	require.Contains(t, p.Failures[0].Message, "maybe others too")
}

// Goroutines that a test leaves since it closes nothing do not hide that another test's leak,
// though the same go statement starts both.
func TestLeakBesideANote(t *testing.T) {
	leaves := func(functions string, ended float64) drive.Exploration {
		return drive.Exploration{
			Functions: strings.Fields(functions),
			Record: &verdict.Result{Schema: verdict.Schema, Verdict: verdict.Fail, Bounds: []verdict.Bound{{
				Selector: "AssertNoGrowth: goroutines", Growth: "+1.00 goroutine/op", PerCall: 1, Verdict: verdict.Fail,
				Holder: &verdict.Holder{Kind: "goroutine", Root: "example.com/app.run", Text: "held by the package variable app.all (app.go:1)", CreatedBy: "example.com/app.New", Made: stack("New")},
			}}},
			Lifetimes: map[string]repeat.Lifetime{"example.com/app.New": {Made: 1, Ended: ended}},
		}
	}
	s := newSorter(t)
	p, err := s.Add("example.com/app", modules, report(leaves("TestA TestB", 0.5), leaves("TestA", 0), leaves("TestB", 1)))
	require.NoError(t, err)
	require.Len(t, p.Failures, 1)
	require.Equal(t, "TestB", p.Failures[0].Test)
	require.NotContains(t, p.Failures[0].Message, "TestA")
	require.Contains(t, p.Failures[0].Message, "    made by app.New (app.go:3)\n    held by the package variable app.all (app.go:1)\n    the test does call Close of the app.Server that app.New returns, and it is still here\n")
}

// What a busy machine recorded too little of in a group, so that nobody knows who made it, is what
// a part of the group tells, and counts once.
func TestMakerKnownInAPart(t *testing.T) {
	made := func(functions string, by ...string) drive.Exploration {
		e := grows(functions, "example.com/app.index")
		e.Record.Bounds[0].Holder.Made = stack(by...)
		return e
	}
	suppressing := *modules
	suppressing.Ignored = func(...string) (string, bool) { return "meant to grow", true }
	for _, tt := range []struct {
		groups []drive.Exploration
		want   int
	}{
		{[]drive.Exploration{made("TestA TestB"), made("TestA", "Login"), grows("TestB")}, 1},
		{[]drive.Exploration{made("TestA TestB"), made("TestA", "Login")}, 2}, // TestB may make another
	} {
		s := newSorter(t)
		_, err := s.Add("example.com/app", &suppressing, report(tt.groups...))
		require.NoError(t, err)
		require.Len(t, s.nonFindings[Suppressed], tt.want)
	}
}

// A root that a subtest feeds is the subtest's finding. A root that only all subtests together, or
// the test without them, feed is the test's. Another subtest's root is another finding.
func TestSubtests(t *testing.T) {
	s := newSorter(t)
	p, err := s.Add("example.com/app", sorterModules, report(
		grows("TestA TestB", "example.com/app.x", "example.com/app.y", "example.com/app.z"),
		grows("TestA", "example.com/app.x", "example.com/app.y", "example.com/app.z"),
		grows("TestA/one TestA/two", "example.com/app.x", "example.com/app.z"), grows("TestA/one", "example.com/app.x"), grows("TestA/two"),
		grows("TestB"),
	))
	require.NoError(t, err)
	require.Len(t, p.Failures, 2)
	require.Equal(t, "TestA/one", p.Failures[0].Test)
	require.Equal(t, "TestA", p.Failures[1].Test)
	require.Equal(t, 2, p.Repeated)
	require.NoError(t, s.LeaveFindings())
	r := s.record(t, "example.com/app", "TestA/one")
	require.Len(t, r.Bounds, 1)
	require.Contains(t, r.Message, "fed by TestA/one in example.com/app\n")
	require.Contains(t, r.Message, `t.Run("again", TestA)`)
	require.Len(t, s.record(t, "example.com/app", "TestA").Bounds, 2)
}

func TestPattern(t *testing.T) {
	require.Equal(t, "^TestA$", Pattern([]string{"TestA"}))
	require.Equal(t, "^(TestA|ExampleB)$", Pattern([]string{"TestA", "ExampleB"}))
	require.Equal(t, `^TestA$/^x\.y#01$`, Pattern([]string{"TestA/x.y#01"}))
	require.Equal(t, "^TestA$/^(x|y)$", Pattern([]string{"TestA/x", "TestA/y"}))
}

// A package of which nothing was repeated has no record. One of which nothing could be told has a
// record that says why.
func TestNoVerdict(t *testing.T) {
	s := newSorter(t)
	p, err := s.Add("example.com/app", sorterModules, &drive.Report{Functions: []drive.Tried{{Name: "TestA", Status: repeat.Slow}, {Name: "TestB", Status: repeat.Slow}}})
	require.NoError(t, err)
	require.Equal(t, "2 too slow", p.Nothing)
	require.Empty(t, p.Unknown)
	require.NoDirExists(t, s.folder("example.com/app", Whole))

	blind := grows("TestA")
	blind.Record.Verdict, blind.Record.Cause, blind.Record.Remedy = verdict.Unknown, "no snapshot", "allow clone"
	p, err = s.Add("example.com/blind", sorterModules, report(blind))
	require.NoError(t, err)
	require.Equal(t, "no snapshot", p.Unknown)
	r := s.record(t, "example.com/blind", Whole)
	require.Equal(t, verdict.Unknown, r.Verdict)
	require.Equal(t, p.Unknown, r.Cause)
	require.Equal(t, "allow clone", r.Remedy)

	p, err = s.Add("example.com/broken", sorterModules, &drive.Report{Broken: "its test binary ended"})
	require.NoError(t, err)
	require.Equal(t, "its test binary ended", p.Nothing)
	p, err = s.Add("example.com/full", sorterModules, &drive.Report{Broken: "no room", Remedy: "make room"})
	require.NoError(t, err)
	require.Equal(t, "no room", p.Unknown)
}

func TestReason(t *testing.T) {
	require.Equal(t, "ends the process: panic: oh", Reason(drive.Tried{Status: repeat.Ended, Reason: "--- FAIL: TestX (0.00s)\n  panic: oh\n"}))
	require.Equal(t, "fails when it is called again: Error: Not equal:", Reason(drive.Tried{Status: repeat.Once, Reason: "2026/11/27 INFO: began\n    x_test.go:7: \n  \tError Trace:\tx_test.go:7\n  \tError:      \tNot equal: \n"}))
	require.Equal(t, "skips itself", Reason(drive.Tried{Status: repeat.Skips}))
}

// A resource that grows as fast as what another test of a group leaks is looked for, too, unless
// objects there stand for it.
func TestRootsOfResources(t *testing.T) {
	holder := &verdict.Holder{Kind: "global", Root: "example.com/app.all", Package: "example.com/app", Made: []verdict.Call{
		{Function: "example.com/app.Keep"}, {Function: "example.com/app.TestKeeps.func1"},
	}}
	roots := Roots(Evidence{}, []Growth{{
		Class: Leak, Root: "global " + holder.Root, Bound: verdict.Bound{Holder: holder, Resources: []verdict.Resource{
			{Kind: "process", Name: "true"}, {Kind: "descriptor", Name: "/dev/null", Holder: "example.com/app.all[*]"},
		}},
	}})
	require.Equal(t, []drive.Root{{Name: "global example.com/app.all", Functions: []string{"Keep", "TestKeeps"}}, {Name: "resource true"}}, roots)
}

//go:build unix

package drive

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stub returns a package whose test binary is a shell script. In it, $orders is the file of orders,
// and $journal the journal.
func stub(t *testing.T, script string) *Binary {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "stub.test")
	script = "#!/bin/sh\norders=$LEAKGATE_REPEAT\njournal=$(dirname $orders)/journal\n" + script
	require.NoError(t, os.WriteFile(file, []byte(script), 0o777))
	return &Binary{
		File: file, Test: "TestX", Dir: dir, Env: os.Environ(), Folder: filepath.Join(dir, "folder"), Budget: time.Minute,
		RootsToSplit: func(*Exploration) []Root { return nil },
	}
}

// If a process can write no more, nothing is known of the package, and the report says what to do.
// No function is blamed.
func TestNoRoom(t *testing.T) {
	b := stub(t, `echo 'write journal: no space left on device' >&2; exit 99`)
	r, err := b.Run(context.Background(), []string{"TestA"}, []string{"BenchmarkA"})
	require.NoError(t, err)
	require.Equal(t, "what its test process does cannot be written: write journal: no space left on device", r.Broken)
	require.Equal(t, "make room where TMPDIR is", r.Remedy)
	require.Equal(t, []Tried{{Name: "TestA"}}, r.Functions)

	b = stub(t, `cat > $journal <<EOF
{"Event":"begin"}
{"Event":"tried","Function":"TestA","Status":"ok","Took":1}
{"Event":"explore","Functions":["TestA"]}
{"Event":"explored","Log":["cannot write result.json: no space left on device"]}
{"Event":"end"}
EOF`)
	r, err = b.Run(context.Background(), []string{"TestA"}, nil)
	require.NoError(t, err)
	require.Equal(t, "there was no room for what leakcheck found: no space left on device", r.Broken)
	require.Empty(t, r.Groups)
}

// A binary that ends before its tests, and one whose journal ends in the middle of a line.
func TestDamagedProcess(t *testing.T) {
	b := stub(t, `echo hello; exit 3`)
	r, err := b.Run(context.Background(), []string{"TestA"}, nil)
	require.NoError(t, err)
	require.Equal(t, "its test binary ended (exit status 3) before a test began:\nhello", r.Broken)
	require.True(t, r.Cut)

	b = stub(t, `printf '{"Event":"begin"}\n{"Event":"tried","Function":"TestA","Status":"fails"}\n{"Event":"tr' > $journal
printf '\n\000leakgate 1 TestB\nbye\n'; kill -9 $$`)
	r, err = b.Run(context.Background(), []string{"TestA", "TestB"}, nil)
	require.NoError(t, err)
	require.Empty(t, r.Broken)
	require.Equal(t, "fails", string(r.Functions[0].Status))
	require.Equal(t, Tried{Name: "TestB", Status: "ended", Reason: "signal: killed\nbye"}, r.Functions[1])
}

// A benchmark that hangs after its loop was repeated, since it waits for what follows the loop, is
// covered.
func TestHangsAfterLoop(t *testing.T) {
	b := stub(t, `cat > $journal <<EOF
{"Event":"begin"}
{"Event":"held","Function":"BenchmarkA","Label":"BenchmarkA#1"}
{"Event":"hangs","Function":"BenchmarkA"}
EOF`)
	r, err := b.Run(context.Background(), nil, []string{"BenchmarkA"})
	require.NoError(t, err)
	require.Equal(t, []Tried{{Name: "BenchmarkA", Status: "ok"}}, r.Benchmarks)
}

// A group that was explored has its verdict, whatever ends the process later. A function that did
// not come back at first comes last, in a process of its own. It is not known what it leaves, if
// its time is over.
func TestVerdictsAreKept(t *testing.T) {
	b := stub(t, `
label=$(sed 's/.*"Label":"\([^"]*\)".*/\1/' $orders)
records=$(dirname $orders)/records
mkdir -p $records/1 $records/2
(
	echo '{"Event":"begin"}'
	case $(cat $orders) in
	*TestA*)
		echo '{"Event":"tried","Function":"TestA","Status":"ok","Took":1}'
		echo '{"Event":"tried","Function":"TestB","Status":"ok","Took":2}'
		echo '{"Event":"explore","Label":"'$label'-1","Functions":["TestA","TestB"]}'
		echo '{"Event":"explored","Label":"'$label'-1"}'
		echo '{"Event":"hangs","Function":"TestC","Took":400000000}'
		printf '{"test":"%s-1","verdict":"pass"}' "$label" > $records/1/result.json
		exit ;;
	*TestD*)
		echo '{"Event":"tried","Function":"TestD","Status":"ok","Took":2}'
		echo '{"Event":"explore","Label":"'$label'-1","Functions":["TestD"]}' ;;
	*)
		echo '{"Event":"tried","Function":"TestC","Status":"ok","Took":900000000}'
		echo '{"Event":"explore","Label":"'$label'-1","Functions":["TestC"]}'
		printf '{"test":"%s-1","verdict":"unknown","cause":"the test times out in 1s: once"}' "$label" > $records/1/result.json ;;
	esac
	echo '{"Event":"explored","Label":"'$label'-1"}'
	echo '{"Event":"end"}'
) > $journal
grep -q TestD $orders && printf '{"test":"%s-1","verdict":"pass"}' "$label" > $records/1/result.json
true`)
	r, err := b.Run(context.Background(), []string{"TestA", "TestB", "TestC", "TestD"}, nil)
	require.NoError(t, err)
	require.Empty(t, r.Broken)
	var statuses, groups []string
	for _, f := range r.Functions {
		statuses = append(statuses, f.Name+" "+string(f.Status))
	}
	for _, g := range r.Groups {
		groups = append(groups, strings.Join(g.Functions, "+"))
	}
	require.Equal(t, []string{"TestA ok", "TestB ok", "TestC untold", "TestD ok"}, statuses)
	require.Equal(t, []string{"TestA+TestB", "TestD"}, groups)
}

package outcome

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Merge makes one run of the shards of a run, given in any order. The result equals a run of all
// packages on one machine, except for its time, which is the longest of the shards' times. Shards
// that are not of one run are an error. A missing shard is a problem of the merged run, whose
// outcome is at best Unknown.
func Merge(shards []*Run) (*Run, error) {
	if len(shards) == 0 {
		return nil, errors.New("there is no run to merge")
	}
	first := shards[0]
	merged := &Run{
		Schema: Schema, Leakgate: first.Leakgate, GoVersion: first.GoVersion, Command: withoutShard(first.Command), Base: first.Base,
		Outcome: Pass,
	}
	if err := fit(shards); err != nil {
		return nil, err
	}
	from := make(map[string]*Shard)
	for _, run := range shards {
		merged.ElapsedSeconds = max(merged.ElapsedSeconds, run.ElapsedSeconds)
		merged.Interrupted = merged.Interrupted || run.Interrupted
		merged.Problems = append(merged.Problems, run.Problems...)
		merged.Notes = append(merged.Notes, run.Notes...)
		merged.Totals.addAll(run.Totals)
		for _, p := range run.Packages {
			if other := from[p.ImportPath]; other != nil {
				return nil, fmt.Errorf("package %s is in shard %s and in shard %s: these are not shards of one run", p.ImportPath, other, run.Shard)
			}
			from[p.ImportPath] = run.Shard
			merged.Packages = append(merged.Packages, p)
		}
		if precedence(run.Outcome) < precedence(merged.Outcome) {
			merged.Outcome = run.Outcome
		}
	}
	slices.SortFunc(merged.Packages, func(a, b *Package) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	merged.Problems = append(merged.Problems, missing(shards)...)
	switch {
	case merged.Outcome != Pass:
	case len(merged.Problems) > 0:
		merged.Outcome = Unknown
	case merged.Totals.Assertions == 0:
		merged.Outcome = Nothing
	}
	merged.ExitCode = ExitCode(merged.Outcome)
	return merged, nil
}

// fit checks that the shards are different shards of one run.
func fit(shards []*Run) error {
	first := shards[0]
	seen := make(map[int]bool)
	for _, run := range shards {
		switch {
		case run.Shard == nil:
			return fmt.Errorf("a report that is no shard's cannot be merged: make it with leakgate run -shard i/n")
		case run.Shard.Count != first.Shard.Count:
			return fmt.Errorf("shards %s and %s are not of one run", first.Shard, run.Shard)
		case run.Shard.Packages != first.Shard.Packages:
			return fmt.Errorf("shard %s saw %d packages and shard %s saw %d: these are not shards of one run",
				first.Shard, first.Shard.Packages, run.Shard, run.Shard.Packages)
		case run.GoVersion != first.GoVersion:
			return fmt.Errorf("shard %s ran with %s and shard %s with %s: use one Go version", first.Shard, first.GoVersion, run.Shard, run.GoVersion)
		case seen[run.Shard.Index]:
			return fmt.Errorf("shard %s is there twice", run.Shard)
		}
		seen[run.Shard.Index] = true
	}
	return nil
}

// missing returns a problem for each missing shard.
func missing(shards []*Run) []string {
	count := shards[0].Shard.Count
	var out []string
	for i := 1; i <= count; i++ {
		if !slices.ContainsFunc(shards, func(r *Run) bool { return r.Shard.Index == i }) {
			out = append(out, fmt.Sprintf("shard %d/%d is missing: its packages were not checked, or its report was not kept", i, count))
		}
	}
	return out
}

// precedence ranks an outcome: the one with the lowest rank beats the others.
func precedence(o Outcome) int {
	return slices.Index([]Outcome{BuildError, Misuse, TestFailure, Regression, Nothing, Unknown, Pass}, o)
}

func (t *Totals) addAll(u Totals) {
	t.Packages += u.Packages
	t.BuildErrors += u.BuildErrors
	t.Tests += u.Tests
	t.FailedTests += u.FailedTests
	t.OtherFailures += u.OtherFailures
	t.Assertions += u.Assertions
	t.Pass += u.Pass
	t.Fail += u.Fail
	t.Misused += u.Misused
	t.Unknown += u.Unknown
	t.Known += u.Known
}

// withoutShard returns a command line without the flag -shard.
func withoutShard(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		name := strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-")
		switch {
		case args[i] == "--":
			return append(out, args[i:]...)
		case name != args[i] && name == "shard":
			i++
			continue
		case name != args[i] && strings.HasPrefix(name, "shard="):
			continue
		}
		out = append(out, args[i])
	}
	return out
}

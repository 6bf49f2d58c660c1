package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A build is a way to build the tests of constructs.
type build struct {
	name  string
	flags []string // of go test
	env   []string
	since int // the first minor version of Go that has it, 0 for all
	until int // the last minor version that has it, 0 for all
	// arrange makes the suite; nil is a plain go test -c in this checkout.
	arrange func(ctx context.Context, b *build, checkout, scratch string) (*suite, error)
}

// builds has every mode that changes what a scan reads: code, linking, debug information, the
// allocator and the collector, and where the module's files are. Experiments that change only the
// language or other packages are left out, and arenas is not supported.
var builds = []build{
	{name: "default"},
	{name: "race", flags: []string{"-race"}},
	{name: "cover", flags: []string{"-cover", "-coverpkg=./..."}},
	{name: "pie", flags: []string{"-buildmode=pie"}},
	{name: "trimpath", flags: []string{"-trimpath"}},
	{name: "unoptimised", flags: []string{"-gcflags=all=-N -l"}},
	{name: "stripped", flags: []string{"-ldflags=-s -w"}},
	{name: "cgo off", env: []string{"CGO_ENABLED=0"}},
	{name: "external linking", flags: []string{"-ldflags=-linkmode=external"}},
	{name: "external linking, pie", flags: []string{"-buildmode=pie", "-ldflags=-linkmode=external"}},
	{name: "profile-guided", arrange: profileGuided},
	{name: "package main", arrange: packageMain},
	{name: "vendored", arrange: vendored},
	{name: "workspace", arrange: workspace},
	{name: "GOAMD64=v3", env: []string{"GOAMD64=v3"}},
	{name: "nogreenteagc", env: []string{"GOEXPERIMENT=nogreenteagc"}},
	{name: "norandomizedheapbase64", env: []string{"GOEXPERIMENT=norandomizedheapbase64"}},
	{name: "nodwarf5", env: []string{"GOEXPERIMENT=nodwarf5"}},
	{name: "sizespecializedmalloc", env: []string{"GOEXPERIMENT=sizespecializedmalloc"}, until: 26},
	{name: "nosizespecializedmalloc", env: []string{"GOEXPERIMENT=nosizespecializedmalloc"}, since: 27},
	{name: "runtimefreegc", env: []string{"GOEXPERIMENT=runtimefreegc"}},
	{name: "heapminimum512kib", env: []string{"GOEXPERIMENT=heapminimum512kib"}},
	{name: "goroutineleakprofile", env: []string{"GOEXPERIMENT=goroutineleakprofile"}, until: 26},
	{name: "mapsplitgroup", env: []string{"GOEXPERIMENT=mapsplitgroup"}, since: 27},
	{name: "cgocheck2", env: []string{"GOEXPERIMENT=cgocheck2"}},
	{name: "preemptibleloops", env: []string{"GOEXPERIMENT=preemptibleloops"}},
	{name: "runtimesecret", env: []string{"GOEXPERIMENT=runtimesecret"}},
	{name: "simd", env: []string{"GOEXPERIMENT=simd"}},
}

// auditBuilds runs the tests of constructs in the builds with these names, or in all builds. It
// writes their lines of the table into the document or, with check, checks that the lines are
// there.
func auditBuilds(ctx context.Context, w io.Writer, checkout string, names []string, check bool) error {
	version, err := goVersion(ctx, checkout)
	if err != nil {
		return err
	}
	all, err := chooseBuilds(nil, version)
	if err != nil {
		return err
	}
	chosen, err := chooseBuilds(names, version)
	if err != nil {
		return err
	}
	tests, err := constructTests(checkout)
	if err != nil {
		return err
	}
	section := "builds " + minor(version)
	documented, err := accuracy.read(checkout, section)
	if err != nil {
		return err
	}
	lines := tableRows(documented)
	var problems []string
	for i := range chosen {
		b := &chosen[i]
		cells, wrong := auditBuild(ctx, b, checkout, tests)
		problems = append(problems, wrong...)
		if cells == nil {
			continue
		}
		fmt.Fprint(w, tableLine(b.name, cells))
		if check && lines[b.name] == nil {
			problems = append(problems, fmt.Sprintf("%s: not in %s; run the command again without -check", b.name, accuracy.file()))
		}
		lines[b.name] = cells
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	if check {
		return nil
	}
	table := fmt.Sprintf("%s:\n\n| build | audits | live KB | typed %% | missed B | extra B |\n|---|---:|---:|---:|---:|---:|\n", version)
	for _, b := range all {
		if cells := lines[b.name]; cells != nil {
			table += tableLine(b.name, cells)
		}
	}
	return accuracy.write(checkout, section, table)
}

func tableLine(name string, cells []string) string {
	return "| " + name + " | " + strings.Join(cells, " | ") + " |\n"
}

func chooseBuilds(names []string, version string) ([]build, error) {
	var n int
	if _, err := fmt.Sscanf(version, "go1.%d", &n); err != nil {
		return nil, fmt.Errorf("the Go version %q is not understood", version)
	}
	var chosen []build
	var all []string
	for _, b := range builds {
		if b.since > n || b.until != 0 && b.until < n {
			continue
		}
		all = append(all, b.name)
		if len(names) == 0 || slices.Contains(names, b.name) {
			chosen = append(chosen, b)
		}
	}
	if len(names) > 0 && len(chosen) < len(names) {
		return nil, fmt.Errorf("%q are not all builds of %s, which are %q", names, version, all)
	}
	return chosen, nil
}

// auditBuild returns the build's cells of the table, nil if there was no audit, and what is wrong.
func auditBuild(ctx context.Context, b *build, checkout string, tests []string) (cells, problems []string) {
	fail := func(err error) []string { return []string{fmt.Sprintf("%s: %v", b.name, err)} }
	scratch, err := os.MkdirTemp("", "leakgate-accuracy-")
	if err != nil {
		return nil, fail(err)
	}
	defer func() {
		if err := os.RemoveAll(scratch); err != nil {
			problems = append(problems, fail(err)...)
		}
	}()
	arrange := b.arrange
	if arrange == nil {
		arrange = plainBuild
	}
	s, err := arrange(ctx, b, checkout, scratch)
	if err != nil {
		return nil, fail(err)
	}
	rows, err := s.audit(ctx, 0, tests...)
	if err != nil {
		problems = append(problems, fail(err)...)
	}
	if len(rows) == 0 {
		return nil, append(problems, b.name+": no audit was recorded")
	}
	merged := rows[0]
	merged.Test = ""
	typed := 100.0
	for i := range rows {
		r := &rows[i]
		if wrong := r.judge(processors()); wrong != "" {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", b.name, r.Test, wrong))
		}
		typed = min(typed, r.typed())
		merged.Totals.LiveBytes = max(merged.Totals.LiveBytes, r.Totals.LiveBytes)
		merged.Totals.MissedBytes = max(merged.Totals.MissedBytes, r.Totals.MissedBytes)
		merged.Totals.ExtraBytes = max(merged.Totals.ExtraBytes, r.Totals.ExtraBytes)
	}
	t := merged.Totals
	return strings.Fields(fmt.Sprintf("%d %d %.2f %d %d", len(rows), t.LiveBytes/1024, typed, t.MissedBytes, t.ExtraBytes)), problems
}

func plainBuild(ctx context.Context, b *build, checkout, scratch string) (*suite, error) {
	return buildSuite(ctx, checkout, scratch, b.env, b.flags)
}

// profileGuided makes a profile with one build and gives it to another.
func profileGuided(ctx context.Context, b *build, checkout, scratch string) (*suite, error) {
	s, err := buildSuite(ctx, checkout, scratch, b.env, nil)
	if err != nil {
		return nil, err
	}
	profile := filepath.Join(scratch, "cpu.pprof")
	if _, err := (tool{dir: s.dir, env: []string{everything}}).run(ctx, s.binary, "-test.run=^(TestCorpus|TestConstructs)$", "-test.cpuprofile="+profile); err != nil {
		return nil, err
	}
	return buildSuite(ctx, checkout, scratch, b.env, []string{"-pgo=" + profile})
}

// packageMain makes the tests part of a package main in another module.
func packageMain(ctx context.Context, _ *build, checkout, scratch string) (*suite, error) {
	dir, err := otherModule(ctx, checkout, scratch)
	if err != nil {
		return nil, err
	}
	return buildOther(ctx, dir, scratch, "-mod=mod")
}

// vendored is packageMain with all dependencies vendored, leakgate among them.
func vendored(ctx context.Context, _ *build, checkout, scratch string) (*suite, error) {
	dir, err := otherModule(ctx, checkout, scratch)
	if err != nil {
		return nil, err
	}
	if _, err := (tool{dir: dir, env: []string{"GOWORK=off", "GOFLAGS="}}).run(ctx, "go", "mod", "vendor"); err != nil {
		return nil, err
	}
	return buildOther(ctx, dir, scratch, "-mod=vendor")
}

// workspace takes leakgate from the checkout by a go.work file instead of a replacement.
func workspace(ctx context.Context, _ *build, checkout, scratch string) (*suite, error) {
	dir, err := otherModule(ctx, checkout, scratch)
	if err != nil {
		return nil, err
	}
	t := tool{dir: dir, env: []string{"GOFLAGS=", "GOWORK="}}
	if _, err := t.run(ctx, "go", "mod", "edit", "-dropreplace="+leakgate, "-droprequire="+leakgate); err != nil {
		return nil, err
	}
	if _, err := t.run(ctx, "go", "work", "init", ".", checkout); err != nil {
		return nil, err
	}
	s := &suite{binary: filepath.Join(scratch, "other.test"), dir: dir, scratch: scratch, env: t.env}
	_, err = t.run(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", s.binary, ".")
	return s, err
}

const otherPath = "example.com/other"

var (
	packageClause = regexp.MustCompile(`(?m)^package refscan_test$`)
	packagePath   = regexp.MustCompile(`(?m)^const pkg = .*$`)
)

// otherModule writes a module with a package main that has the tests of constructs, except those in
// cgo, which build a program of this module.
func otherModule(ctx context.Context, checkout, scratch string) (string, error) {
	dir := filepath.Join(scratch, "other")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(checkout, "refscan", "constructs_*test.go"))
	if err != nil {
		return "", err
	}
	for _, name := range []string{"corpus_test.go", "accuracy_test.go"} {
		files = append(files, filepath.Join(checkout, "refscan", name))
	}
	for _, file := range files {
		if filepath.Base(file) == "constructs_cgo_test.go" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		text = bytes.ReplaceAll(text, []byte(`"`+leakgate+`/internal/`), []byte(`"`+otherPath+`/internal/`))
		text = packageClause.ReplaceAll(text, []byte("package main"))
		text = packagePath.ReplaceAll(text, []byte(`const pkg = "`+otherPath+`."`))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o666); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o666); err != nil {
		return "", err
	}
	for _, name := range []string{"assert", "pproftest", "require"} {
		if err := copyInternal(checkout, dir, name); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+otherPath+"\n\ngo 1.26.0\n"), 0o666); err != nil {
		return "", err
	}
	t := tool{dir: dir, env: []string{"GOWORK=off", "GOFLAGS=-mod=mod"}}
	for _, args := range [][]string{
		{"mod", "edit", "-require=" + leakgate + "@v0.0.0", "-replace=" + leakgate + "=" + checkout},
		{"mod", "tidy"},
	} {
		if _, err := t.run(ctx, "go", args...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// copyInternal copies an internal package of this module into the other one.
func copyInternal(checkout, dir, name string) error {
	files, err := filepath.Glob(filepath.Join(checkout, "internal", name, "*.go"))
	if err != nil {
		return err
	}
	folder := filepath.Join(dir, "internal", name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(`"`+leakgate+`/internal/`), []byte(`"`+otherPath+`/internal/`))
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// buildOther builds the other module's tests without debug information, so that a twin has to be
// linked as go test links it.
func buildOther(ctx context.Context, dir, scratch, mod string) (*suite, error) {
	s := &suite{binary: filepath.Join(scratch, "other.test"), dir: dir, scratch: scratch, env: []string{"GOWORK=off", "GOFLAGS="}}
	_, err := tool{dir: dir, env: s.env}.run(ctx, "go", "test", "-c", "-vet=off", mod, "-ldflags=-s -w", "-o", s.binary, ".")
	return s, err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A moduleRun says which tests of a public module to audit.
type moduleRun struct {
	module   string // with its version
	folder   string // of the package, below the module
	run      string // regular expression for the tests; "" for all
	every    time.Duration
	deadline time.Duration // for the tests
}

const leakgate = "github.com/leakgate/leakgate"

// auditModule adds a probe to the tests of a package of a public module, runs them, and prints the
// audits.
func auditModule(ctx context.Context, w io.Writer, checkout string, m moduleRun) (err error) {
	scratch, err := os.MkdirTemp("", "leakgate-accuracy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	dir := filepath.Join(scratch, "module")
	if err := copyModule(ctx, scratch, dir, m.module); err != nil {
		return err
	}
	goTool := tool{dir: dir, env: []string{"GOFLAGS=-mod=mod", "GOWORK=off"}}
	if _, err := goTool.run(ctx, "go", "mod", "edit", "-require="+leakgate+"@v0.0.0", "-replace="+leakgate+"="+checkout); err != nil {
		return err
	}
	if _, err := goTool.run(ctx, "go", "get", leakgate+"@v0.0.0"); err != nil {
		return err
	}
	name, err := goTool.value(ctx, "go", "list", "-f", "{{.Name}}", "./"+m.folder)
	if err != nil {
		return err
	}
	inPackage := tool{dir: filepath.Join(dir, filepath.FromSlash(m.folder))}
	if err := addProbe(inPackage.dir, name); err != nil {
		return err
	}
	binary, rowsFile := filepath.Join(scratch, "package.test"), filepath.Join(scratch, "rows")
	if _, err := goTool.run(ctx, "go", "test", "-vet=off", "-c", "-o", binary, "./"+m.folder); err != nil {
		return err
	}
	inPackage.env = []string{"LEAKGATE_ACCURACY=" + rowsFile, "LEAKGATE_ACCURACY_EVERY=" + m.every.String()}
	args := []string{"-test.timeout=" + m.deadline.String()}
	if m.run != "" {
		args = append(args, "-test.run="+m.run+"|^TestZZZLeakgateAudit$")
	}
	_, testErr := inPackage.run(ctx, binary, args...)
	rows, err := readRows(rowsFile)
	if err != nil {
		return err
	}
	if testErr != nil {
		fmt.Fprintf(w, "the tests failed, which is no matter if it is not the probe's doing: %v\n\n", testErr)
	}
	version, err := goTool.value(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, package %s, %s\n\n", m.module, m.folder, version)
	return printAudits(w, rows)
}

// copyModule copies a module from the read-only module cache to a folder.
func copyModule(ctx context.Context, scratch, dir, module string) error {
	var downloaded struct{ Dir, Error string }
	if err := (tool{dir: scratch, env: []string{"GOWORK=off"}}).decode(ctx, &downloaded, "go", "mod", "download", "-json", module); err != nil {
		return err
	}
	if downloaded.Error != "" {
		return errors.New(downloaded.Error)
	}
	if err := os.CopyFS(dir, os.DirFS(downloaded.Dir)); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o777)
		}
		if err == nil && d.Name() == "go.mod" {
			err = os.Chmod(path, 0o666)
		}
		if err == nil && d.Name() == "go.sum" {
			err = os.Chmod(path, 0o666)
		}
		return err
	})
}

// printAudits summarises the audits by when they were made, and lists the largest paths without a
// type.
func printAudits(w io.Writer, rows []row) error {
	if !slices.ContainsFunc(rows, func(r row) bool { return r.Test == "at the end" }) {
		return fmt.Errorf("the probe's test did not run; %d audits were made before", len(rows))
	}
	fmt.Fprintln(w, "| when | scans | live KB | attributed | typed | missed B | extra B |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|")
	untyped := make(map[string]int64)
	for _, when := range []string{"in the midst", "at the end"} {
		var scans, live, missed, extra int64
		typed, attributed := math.Inf(1), math.Inf(1)
		for i := range rows {
			r := &rows[i]
			if r.Test != when {
				continue
			}
			if r.Error != "" {
				fmt.Fprintf(w, "no scan %s: %s\n", when, r.Error)
				continue
			}
			scans++
			live, missed, extra = max(live, r.Totals.LiveBytes), max(missed, r.Totals.MissedBytes), max(extra, r.Totals.ExtraBytes)
			typed, attributed = min(typed, r.typed()), min(attributed, r.attributed())
			for _, u := range r.Untyped {
				untyped[u.Path] = max(untyped[u.Path], u.Bytes)
			}
		}
		fmt.Fprintf(w, "| %s | %d | %d | %.3f %% | %.2f %% | %d | %d |\n", when, scans, live/1024, attributed, typed, missed, extra)
	}
	paths := make([]string, 0, len(untyped))
	for p := range untyped {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int {
		if d := untyped[b] - untyped[a]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	fmt.Fprintln(w, "\nLargest without a type, in bytes (the most in one scan):")
	for _, p := range paths[:min(len(paths), 40)] {
		fmt.Fprintf(w, "%9d %s\n", untyped[p], p)
	}
	return nil
}

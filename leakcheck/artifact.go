package leakcheck

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/plainjson"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// Names of the files that lie beside result.json, and their kinds in it.
var artifactFiles = map[string]string{
	"report":   "report.json",
	"retained": "retained.pb.gz",
	"heap":     "heap.pb.gz",
	"golden":   "golden.txt", // what could not be written where it belongs
}

// An artifactFolder is where one assertion leaves its files. The zero value keeps nothing.
type artifactFolder struct {
	dir   string
	seq   int
	files map[string]string
}

// newArtifactFolder makes a folder of its own for an assertion: below LEAKGATE_ARTIFACTS, or, for a test
// that failed and was run with -artifacts, in the test's.
func newArtifactFolder(env *environment, t TestingT, test string, failed bool) (*artifactFolder, error) {
	a := &artifactFolder{files: make(map[string]string)}
	var base string
	switch {
	case env.artifacts != "":
		base = filepath.Join(env.artifacts, filepath.FromSlash(localPath(env.packagePath)), filepath.FromSlash(safePath(test)))
	case failed && keepsArtifacts():
		d, ok := t.(artifactDir)
		if !ok {
			return a, nil
		}
		base = filepath.Join(d.ArtifactDir(), "leakcheck")
	default:
		return a, nil
	}
	if err := os.MkdirAll(base, 0o777); err != nil {
		return a, fmt.Errorf("cannot keep artifacts: %w", err)
	}
	// Other processes (fuzz workers, -count in parallel) may be at it too: the folder that we make is ours.
	for n := 1; ; n++ {
		dir := filepath.Join(base, strconv.Itoa(n))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return a, fmt.Errorf("cannot keep artifacts: %w", err)
		}
		a.dir, a.seq = dir, n
		return a, nil
	}
}

// keepsArtifacts reports whether "go test -artifacts" was given; without it, the test's folder is
// removed at its end.
func keepsArtifacts() bool {
	return flagText("test.artifacts") == "true"
}

// safePath makes the name of a test a relative path that stays where it is put.
func safePath(test string) string {
	file, err := golden.FileName(test)
	if err != nil {
		return "unnamed"
	}
	return strings.TrimSuffix(file, golden.Extension)
}

// localPath returns an import path, which is fit for file names as it is, unless it would lead out of
// the folder.
func localPath(importPath string) string {
	if !filepath.IsLocal(filepath.FromSlash(importPath)) {
		return "unnamed"
	}
	return importPath
}

// saveReport writes the report, as JSON and as a profile, and the heap profile.
func (a *artifactFolder) saveReport(r *refscan.Report) error {
	if a.dir == "" || r == nil {
		return nil
	}
	return errors.Join(
		a.save("report", func(w io.Writer) error { return plainjson.Encode(w, r) }),
		a.save("retained", r.WriteProfile),
		a.save("heap", func(w io.Writer) error { return pprof.Lookup("heap").WriteTo(w, 0) }),
	)
}

// saveResult writes the record for the leakgate command, last, so that what it names is there.
func (a *artifactFolder) saveResult(r *verdict.Result) error {
	if a.dir == "" {
		return nil
	}
	r.Seq = a.seq
	r.Artifacts = a.files
	return writeFile(filepath.Join(a.dir, verdict.FileName), func(w io.Writer) error {
		return plainjson.Encode(w, r)
	})
}

func (a *artifactFolder) save(kind string, write func(io.Writer) error) error {
	if a.dir == "" {
		return nil
	}
	name := artifactFiles[kind]
	if err := writeFile(filepath.Join(a.dir, name), write); err != nil {
		return err
	}
	a.files[kind] = name
	return nil
}

// writeFile writes to a temporary name, then renames: a reader never sees half a file. The folder is this
// assertion's own, so nobody else uses the temporary name.
func writeFile(path string, write func(io.Writer) error) (err error) {
	temporary := path + ".tmp"
	defer func() {
		if err != nil {
			os.Remove(temporary)
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

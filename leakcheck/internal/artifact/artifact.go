// Package artifact writes files that help to find the cause of a failure.
package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/internal/wholefile"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/stackprof"
)

// Files that lie beside result.json, and whose names other packages use. The kind of a file, in the
// record, is its name up to ".pb.gz" or its last dot.
const (
	RetainedFile   = "retained.pb.gz"
	GoldenArtifact = "golden.txt" // the golden file as an update would make it
	NativeFile     = "native.pb.gz"
	NativeBaseFile = "native.base.pb.gz" // the profile to subtract from NativeFile
)

// MaxArtifact is the size in bytes of the largest file that an assertion leaves.
const MaxArtifact = 64 << 20

// A Folder is where one assertion leaves its files. The zero value keeps nothing.
type Folder struct {
	Dir   string
	Full  bool // profiles and the report too, not only the record
	seq   int
	Files map[string]string
}

// foldersFilled counts the assertions of this process that have left profiles.
var foldersFilled atomic.Int64

// mostFolders is how many assertions may leave profiles.
func mostFolders() int64 {
	if n, err := strconv.Atoi(envvar.ArtifactsMax.Value()); err == nil {
		return int64(n)
	}
	return verdict.DefaultMax
}

// NewFolder makes a folder of its own for an assertion: below LEAKGATE_ARTIFACTS, or, if the
// assertion failed, in the test's artifact folder if go test has -artifacts, or in the folder where
// Bazel gathers files.
func NewFolder(env *environ.Environment, t environ.TestingT, test string, failed bool) (*Folder, error) {
	a := &Folder{Files: make(map[string]string)}
	var base string
	switch {
	case env.Artifacts != "":
		base = filepath.Join(env.Artifacts, filepath.FromSlash(environ.LocalPath(env.PackagePath)), filepath.FromSlash(SafePath(test)))
	case failed && environ.KeepsArtifacts():
		d, ok := t.(environ.ArtifactDir)
		if !ok {
			return a, nil
		}
		base = filepath.Join(d.ArtifactDir(), "leakcheck")
	case failed && env.Undeclared != "":
		base = filepath.Join(env.Undeclared, "leakcheck", filepath.FromSlash(environ.LocalPath(env.PackagePath)), filepath.FromSlash(SafePath(test)))
	default:
		return a, nil
	}
	if err := os.MkdirAll(base, 0o777); err != nil {
		return a, fmt.Errorf("cannot keep artifacts: %w", err)
	}
	// Other processes (fuzz workers, -count in parallel) may make folders at the same time. Mkdir
	// succeeds in one of them only.
	for n := 1; ; n++ {
		dir := filepath.Join(base, strconv.Itoa(n))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return a, fmt.Errorf("cannot keep artifacts: %w", err)
		}
		a.Dir, a.seq = dir, n
		a.Full = (failed || env.Every) && foldersFilled.Add(1) <= mostFolders()
		return a, nil
	}
}

// SafePath returns a relative path for the name of a test, which does not lead out of a folder.
func SafePath(test string) string {
	file, err := golden.FileName(test)
	if err != nil {
		return "unnamed"
	}
	return strings.TrimSuffix(file, golden.Extension)
}

// FullDir is the folder if it gets more than a record, else "".
func (a *Folder) FullDir() string {
	if !a.Full {
		return ""
	}
	return a.Dir
}

// Contents are the artifacts of an assertion.
type Contents struct {
	Trace string               // the message at full length
	Obs   *observe.Observation // of the last snapshot; nil: there was none
	Base  observe.Artifacts    // the baseline's files, to compare with; zero without a baseline

	Native Native
}

// Native has profiles (profile.proto, gzipped) of the calls behind native memory, after one batch
// of calls and after a second one.
type Native struct{ Base, Last string }

// SaveFiles writes files that help to find the cause: the report, as JSON and as a profile, the
// heap profiles of now and of the baseline, the goroutines and their stacks, and the message at
// full length.
func (a *Folder) SaveFiles(c Contents) error {
	type file struct {
		name  string
		write func(io.Writer) error
	}
	files := []file{
		{"goroutine.pb.gz", func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 0) }},
		{"stack.pb.gz", writeStacks},
	}
	texts := [][2]string{{NativeBaseFile, c.Native.Base}, {NativeFile, c.Native.Last}}
	if c.Trace != "" {
		texts = append(texts, [2]string{"trace.txt", c.Trace + "\n"})
	}
	if obs := c.Obs; obs != nil && obs.Names != nil { // there was a scan
		report := obs.Native.In(obs.Report)
		files = append(files, file{"report.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(report) }}, file{RetainedFile, report.WriteProfile})
		if recordsAllocations(obs.Report.Roots) {
			files = append(files, file{"allocations.pb.gz", obs.Report.WriteAllocationProfile})
		}
		texts = append(texts, [2]string{"heap.pb.gz", obs.Heap})
		if obs.Heap != "" {
			texts = append(texts, [2]string{"heap.base.pb.gz", c.Base.Heap})
		}
		if base := c.Base.Report; base != nil {
			files = append(files, file{"report.base.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(base) }})
		}
	}
	var err error
	for _, f := range files {
		err = errors.Join(err, a.Save(f.name, f.write))
	}
	for _, t := range texts {
		err = errors.Join(err, a.SaveText(t[0], t[1]))
	}
	return err
}

func writeStacks(w io.Writer) error {
	p, err := stackprof.Take()
	if err == nil {
		_, err = p.WriteTo(w)
	}
	return err
}

// recordsAllocations reports whether any node has allocation sites.
func recordsAllocations(nodes []*refscan.Node) bool {
	for _, n := range nodes {
		if len(n.Allocations) > 0 || recordsAllocations(n.Children) {
			return true
		}
	}
	return false
}

// SaveText writes a file, unless it would be empty.
func (a *Folder) SaveText(name, text string) error {
	if text == "" {
		return nil
	}
	return a.Save(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// SaveResult writes the record for the leakgate command. It must be called last, so that the files
// that the record names exist.
func (a *Folder) SaveResult(r *verdict.Result) error {
	if a.Dir == "" {
		return nil
	}
	r.Seq = a.seq
	r.Artifacts = a.Files
	return writeFile(filepath.Join(a.Dir, verdict.FileName), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(r)
	})
}

func (a *Folder) Save(name string, write func(io.Writer) error) error {
	if a.Dir == "" {
		return nil
	}
	err := writeFile(filepath.Join(a.Dir, name), func(w io.Writer) error {
		return write(&boundedWriter{w, MaxArtifact})
	})
	if err == nil {
		kind := strings.TrimSuffix(name, ".pb.gz")
		if kind == name {
			kind = strings.TrimSuffix(name, filepath.Ext(name))
		}
		a.Files[kind] = name
	}
	return err
}

// A boundedWriter fails when more than left bytes are written to it.
type boundedWriter struct {
	w    io.Writer
	left int
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("it is larger than %d bytes", MaxArtifact)
	}
	return b.w.Write(p)
}

// writeFile writes a file as a whole.
func writeFile(path string, write func(io.Writer) error) error {
	if err := wholefile.Write(path, 0o666, write); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

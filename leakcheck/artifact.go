package leakcheck

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/fmterr"
	"github.com/leakgate/leakgate/internal/plainjson"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// Files that lie beside result.json and are named elsewhere too. The kind of a file, in the record, is its
// name up to ".pb.gz" or its last dot.
const (
	retainedFile   = "retained.pb.gz"
	goldenArtifact = "golden.txt" // what the golden file would be
)

// maxArtifact is the size in bytes of the largest file that an assertion leaves.
const maxArtifact = 64 << 20

// An artifactFolder is where one assertion leaves its files. The zero value keeps nothing.
type artifactFolder struct {
	dir   string
	full  bool // profiles and the report too, not only the record
	seq   int
	files map[string]string
}

// foldersFilled counts the assertions of this process that have left profiles.
var foldersFilled atomic.Int64

// keepsFiles reports whether an assertion of this process may leave profiles.
func (e *environment) keepsFiles() bool {
	return e.artifacts != "" || e.undeclared != "" || keepsArtifacts()
}

// mostFolders is how many assertions may leave profiles.
func mostFolders() int64 {
	if n, err := strconv.Atoi(os.Getenv(verdict.EnvMax)); err == nil {
		return int64(n)
	}
	return verdict.DefaultMax
}

// newArtifactFolder makes a folder of its own for an assertion: below LEAKGATE_ARTIFACTS, or, where an
// assertion failed, in the test's own if it was run with -artifacts, or where Bazel gathers files.
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
	case failed && env.undeclared != "":
		base = filepath.Join(env.undeclared, "leakcheck", filepath.FromSlash(localPath(env.packagePath)), filepath.FromSlash(safePath(test)))
	default:
		return a, nil
	}
	if err := os.MkdirAll(base, 0o777); err != nil {
		return a, fmterr.Errorf("cannot keep artifacts: %w", err)
	}
	// Other processes (fuzz workers, -count in parallel) may be at it too: the folder that we make is ours.
	for n := 1; ; n++ {
		dir := filepath.Join(base, strconv.Itoa(n))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return a, fmterr.Errorf("cannot keep artifacts: %w", err)
		}
		a.dir, a.seq = dir, n
		a.full = (failed || env.every) && foldersFilled.Add(1) <= mostFolders()
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

// fullDir is the folder if it gets more than a record, else "".
func (a *artifactFolder) fullDir() string {
	if !a.full {
		return ""
	}
	return a.dir
}

// saveFiles writes what helps to find the cause: the report, as JSON and as a profile, the heap profiles
// that bracket what was left, the goroutines, and the message at full length.
func (a *artifactFolder) saveFiles(o *outcome) error {
	err := a.save("goroutine.pb.gz", func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 0) })
	if saveMore != nil {
		err = errors.Join(err, saveMore(a, o))
	}
	if o.trace != "" {
		err = errors.Join(err, a.saveText("trace.txt", o.trace+"\n"))
	}
	if o.eval == nil || o.eval.obs.names == nil { // there was no scan
		return err
	}
	obs := o.eval.obs
	err = errors.Join(err,
		a.save("report.json", func(w io.Writer) error { return plainjson.Encode(w, obs.report) }),
		a.save(retainedFile, obs.report.WriteProfile),
		a.saveText("heap.pb.gz", obs.heap))
	if o.base == "" {
		o.base = startHeap
	}
	if obs.heap != "" {
		err = errors.Join(err, a.saveText("heap.base.pb.gz", o.base))
	}
	return err
}

// saveMore writes the profiles of goroutine stacks and of what is retained by the place of its allocation. It is nil
// unless the test was built with the tag leakgate, as leakgate run does: it would add 130 KB to every test binary.
var saveMore func(*artifactFolder, *outcome) error

// saveText writes a file, unless it would be empty.
func (a *artifactFolder) saveText(name, text string) error {
	if text == "" {
		return nil
	}
	return a.save(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// startHeap is the heap profile of the start of this process, for assertions without a baseline. It is
// taken only where artifacts are to be kept, and then costs a collection of an almost empty heap.
var startHeap = heapAtStart()

func heapAtStart() string {
	if os.Getenv(verdict.EnvArtifacts) == "" && os.Getenv("TEST_UNDECLARED_OUTPUTS_DIR") == "" &&
		!strings.Contains(strings.Join(os.Args, " "), "-test.artifacts") { // flags are not parsed yet
		return ""
	}
	// Two profiles compare only if they were sampled at one rate. The testing package sets it later.
	for _, arg := range os.Args {
		if text, ok := strings.CutPrefix(arg, "-test.memprofilerate="); ok {
			if rate, err := strconv.Atoi(text); err == nil && rate > 0 {
				runtime.MemProfileRate = rate
			}
		}
	}
	runtime.GC()
	return heapProfile()
}

// heapProfile returns the heap profile as of the last collection that runtime.GC completed: it publishes what
// was allocated before its mark phase ended and what its sweep found dead (go1.26 runtime/mprof.go,
// mProf_PostSweep). A collection that the runtime starts by itself publishes only what the one before it saw.
func heapProfile() string {
	var b strings.Builder
	if err := pprof.Lookup("heap").WriteTo(&b, 0); err != nil {
		return "" // a strings.Builder takes all
	}
	return b.String()
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

func (a *artifactFolder) save(name string, write func(io.Writer) error) error {
	if a.dir == "" {
		return nil
	}
	err := writeFile(filepath.Join(a.dir, name), func(w io.Writer) error {
		return write(&boundedWriter{w, maxArtifact})
	})
	if err == nil {
		kind := strings.TrimSuffix(name, ".pb.gz")
		if kind == name {
			kind = strings.TrimSuffix(name, filepath.Ext(name))
		}
		a.files[kind] = name
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
		return 0, fmterr.Errorf("it is larger than %d bytes", maxArtifact)
	}
	return b.w.Write(p)
}

// writeFile writes a file as a whole.
func writeFile(path string, write func(io.Writer) error) error {
	if err := wholefile.Write(path, 0o666, write); err != nil {
		return fmterr.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

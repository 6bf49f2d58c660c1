package debuginfo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo/twin"
)

// Options says what Open reads and where it keeps what it learned. The zero value is right for a test of its own process.
type Options struct {
	// Executable is the program's file; "" means the running program's. A twin can only be built for the running program.
	Executable string

	// CacheDir holds indexes between runs. "" means the environment variable LEAKGATE_CACHE, or "leakgate" in
	// os.UserCacheDir; "off" means that nothing is kept.
	CacheDir string

	NoTwin bool                 // do not build a twin if the program has no debug information
	Logf   func(string, ...any) // told what takes long, and what was wrong with the cache; nil: nobody
}

// Unavailable is the error when a program's debug information cannot be had: the cause in a sentence, and what the user can do.
type Unavailable = twin.Unavailable

// Open returns the index of the running program: from the cache, or else from the program's own DWARF, or else from a
// twin, which is the same test linked again with debug information (see package twin). It may be called by many processes at once.
//
// A warm cache costs a mapping and a checksum; reading DWARF 15 ms for each MB of binary; a twin one link, seconds for big
// programs. If there is no way to the debug information, the error is an *Unavailable.
func Open(ctx context.Context, opts Options) (*Index, error) {
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	path := opts.Executable
	if path == "" {
		var err error
		if path, err = defaultExecutable(); err != nil {
			return nil, &Unavailable{Cause: "the running program's file cannot be found", Err: err}
		}
	}
	f, err := openELF(path)
	if err != nil {
		return nil, &Unavailable{
			Cause:  "the program's file cannot be read",
			Remedy: "debug information is read from 64-bit ELF executables, as on linux/amd64 and linux/arm64",
			Err:    err,
		}
	}
	defer f.Close()
	o := opening{elf: f, path: path, id: f.buildID(), opts: opts}
	o.cache, o.warning = newCache(opts)
	return o.open(ctx)
}

// opening is one call of Open.
type opening struct {
	elf     *elfFile
	path    string
	id      string
	opts    Options
	cache   *cache // nil: none
	warning string
}

func (o *opening) open(ctx context.Context) (*Index, error) {
	if x := o.cached(); x != nil {
		return x, nil
	}
	if o.elf.hasDWARF() {
		c, err := buildContents(o.elf, identity{buildID: o.id})
		if err != nil {
			return nil, &Unavailable{
				Cause:  "the program's debug information cannot be read",
				Remedy: "rebuild the program, and report this if it happens again",
				Err:    err,
			}
		}
		return o.finish(c, "own")
	}
	if o.opts.NoTwin || !isSelf(o.path) {
		return nil, &Unavailable{
			Cause:  "the program has no debug information",
			Remedy: "run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does",
		}
	}
	return o.fromTwin(ctx)
}

// cached returns the stored index, nil if there is none that is sound.
func (o *opening) cached() *Index {
	if o.cache == nil {
		return nil
	}
	x, err := o.cache.load(o.id)
	switch {
	case err == nil:
		return o.done(x, "cache")
	case !errors.Is(err, os.ErrNotExist):
		o.opts.Logf("the cached debug information is rebuilt: %v", err)
	}
	return nil
}

// fromTwin builds a twin and indexes it. Processes take turns, because a link uses all processors and much memory; whoever
// waited looks into the cache again, for it may have waited for its own program's twin.
func (o *opening) fromTwin(ctx context.Context) (*Index, error) {
	if o.cache != nil {
		unlock, err := o.cache.lock(ctx, turnTimeout)
		if err != nil {
			return nil, &Unavailable{
				Cause:  "another process has been building a twin with debug information for too long",
				Remedy: "run the test again, or allow it more time",
				Err:    err,
			}
		}
		defer unlock()
		if x := o.cached(); x != nil {
			return x, nil
		}
	}
	start := time.Now()
	t, err := twin.Build(ctx, twin.Request{TempDir: o.tempDir()})
	if err != nil {
		return nil, err
	}
	defer t.Remove()
	f, err := openELF(t.Path)
	if err != nil {
		return nil, &Unavailable{Cause: "the twin with debug information cannot be read", Err: err}
	}
	defer f.Close()
	if err := sameProgram(o.elf, f); err != nil {
		return nil, &Unavailable{
			Cause: "the test has no debug information, and linking it again gave another program",
			Remedy: "if its source was changed meanwhile, run go test again; else run it with -ldflags='-s=0 -w=0', " +
				"or use leakgate run, which does",
			Err: err,
		}
	}
	c, err := buildContents(f, identity{buildID: o.id, twin: true})
	if err != nil {
		return nil, &Unavailable{
			Cause:  "the debug information of the twin cannot be read",
			Remedy: "run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does",
			Err:    err,
		}
	}
	o.opts.Logf("built a twin with debug information in %.1fs (once per binary)", time.Since(start).Seconds())
	return o.finish(c, "twin")
}

// turnTimeout bounds how long a process waits for others' twins.
const turnTimeout = 5 * time.Minute

// tempDir is where a twin is linked: next to the indexes, where large files are expected.
func (o *opening) tempDir() string {
	if o.cache != nil {
		return o.cache.dir
	}
	return os.TempDir()
}

// finish stores an index and returns it as mapped from the cache, off the Go heap. What cannot be stored still works.
func (o *opening) finish(c *contents, source string) (*Index, error) {
	if o.cache != nil {
		err := o.cache.store(o.id, packFile(c))
		if err != nil {
			o.warning = fmt.Sprintf("the index of debug information could not be kept, so every run builds it again: %v", err)
		} else if x, err := o.cache.load(o.id); err == nil {
			return o.done(x, source), nil
		}
	}
	return o.done(&Index{contents: c}, source), nil
}

func (o *opening) done(x *Index, source string) *Index {
	x.source = source
	if o.warning != "" {
		x.extra = append(x.extra, o.warning)
	}
	return x
}

// cacheDir is where indexes are kept; "" for nowhere.
func cacheDir(opts Options) (string, error) {
	dir := opts.CacheDir
	if dir == "" {
		dir = os.Getenv("LEAKGATE_CACHE")
	}
	switch {
	case dir == "off":
		return "", nil
	case dir != "":
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "leakgate"), nil
}

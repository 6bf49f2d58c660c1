package debuginfo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/twin"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/native"
	"github.com/leakgate/leakgate/internal/realtime"
)

// Options says what Open reads and where it caches the index. The zero value is right for a test of
// its own process.
type Options struct {
	// File is the program's file, which Open does not close; nil means the running program's. A
	// twin can only be built for the running program.
	File *objfile.File

	// CacheDir holds indexes between runs. "" means the environment variable LEAKGATE_CACHE, or
	// "leakgate" in os.UserCacheDir; "off" means that nothing is kept.
	CacheDir string

	NoTwin bool // do not build a twin if the program has no debug information
	// receives messages about slow steps and about problems with the cache; nil: none
	Logf func(string, ...any)
}

// Open returns the index of the running program: from the cache, or else from the program's own
// DWARF, or else from a twin, which is the same test linked again with debug information (see
// package twin). It may be called by many processes at once.
//
// A warm cache costs reading the index, about a millisecond for 4 MB; reading DWARF 15 ms for each
// MB of binary; a twin one link, seconds for big programs. If none of these has the debug
// information, the error is an *Unavailable.
func Open(ctx context.Context, opts Options) (*Index, error) {
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	o := opening{file: opts.File, opts: opts}
	if o.file == nil {
		var err error
		if o.file, err = openProgram(""); err != nil {
			return nil, err
		}
		defer o.file.Close()
	}
	cache, warning := symindex.OpenCache(opts.CacheDir)
	o.cache = cache
	o.warn(warning)
	return o.open(ctx)
}

// openProgram opens an executable of this system, the running program if the path is "". The error
// is an *Unavailable.
func openProgram(path string) (f *objfile.File, err error) {
	if path == "" {
		path, err = objfile.Running()
	}
	if err != nil {
		u := &Unavailable{Cause: "the running program's file cannot be found", Err: err}
		if runtime.GOOS == "linux" {
			u.Remedy = "mount /proc for the test process (in a chroot: mount -t proc proc /path/of/the/chroot/proc)"
		}
		return nil, u
	}
	if f, err = native.Open(path); err != nil {
		return nil, &Unavailable{
			Cause:  "the program's file cannot be read",
			Remedy: cmp.Or(remedy.ForFile(err), "debug information is read from "+native.Format+" executables on "+runtime.GOOS+": let the test read its own file"),
			Err:    err,
		}
	}
	return f, nil
}

// opening is the state of one call of Open.
type opening struct {
	file     *objfile.File
	opts     Options
	cache    *symindex.Cache // nil: none
	warnings []string
}

func (o *opening) warn(warning string) {
	if warning != "" {
		o.warnings = append(o.warnings, warning)
	}
}

func (o *opening) open(ctx context.Context) (*Index, error) {
	if x, err := o.cached(); x != nil || err != nil {
		return x, err
	}
	if o.file.HasDWARF() {
		if err := o.memoryForIndex(); err != nil {
			return nil, err
		}
		p, err := dwarfread.Read(o.file)
		if err != nil {
			return nil, &Unavailable{
				Cause:  "the program's debug information cannot be read",
				Remedy: "rebuild the program, and report this if it happens again",
				Err:    err,
			}
		}
		return o.finish(p, "own")
	}
	if o.opts.NoTwin || !objfile.IsRunning(o.file.Path) {
		return nil, &Unavailable{
			Cause:  "the program has no debug information",
			Remedy: "run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does",
		}
	}
	return o.fromTwin(ctx)
}

// cached returns the stored index, or nil if the cache has none that can be used. Lack of memory
// for it is an error, since building the index takes more memory than loading it.
func (o *opening) cached() (*Index, error) {
	if o.cache == nil {
		return nil, nil
	}
	x, err := o.cache.Load(o.file.Identity())
	switch {
	case err == nil:
		return x.Opened("cache", o.warnings), nil
	case errors.Is(err, syscall.ENOMEM):
		return nil, &Unavailable{
			Cause:  "there is no memory for the index of the program's debug information",
			Remedy: remedy.For("mmap", err),
			Err:    err,
		}
	case errors.Is(err, symindex.ErrUntrusted):
		o.warn(fmt.Sprintf("the cached debug information is built again: %v", err))
	case !errors.Is(err, os.ErrNotExist):
		o.opts.Logf("the cached debug information is rebuilt: %v", err)
	}
	return nil, nil
}

// fromTwin builds a twin and indexes it. Processes take turns, because a link uses all processors
// and much memory. A process that waited looks into the cache again, since another process may have
// built the twin of the same program meanwhile.
func (o *opening) fromTwin(ctx context.Context) (*Index, error) {
	if o.cache != nil {
		unlock, err := o.cache.Lock(ctx, turnTimeout)
		if err != nil {
			return nil, &Unavailable{
				Cause:  "another process has been building a twin with debug information for too long",
				Remedy: "run the test again, or allow it more time",
				Err:    err,
			}
		}
		defer unlock()
		if x, err := o.cached(); x != nil || err != nil {
			return x, err
		}
		o.cache.Clean()
	}
	if err := o.memoryForLink(); err != nil {
		return nil, err
	}
	start := realtime.Clock()
	p, err := o.readTwin(ctx, twin.Relink)
	if err != nil && (ctx.Err() == nil || errors.Is(err, twin.ErrNoInputs)) { // a link that ctx cut short is not tried again
		o.opts.Logf("the go command builds a twin with debug information: %v", err)
		p, err = o.readTwin(ctx, twin.Build)
	}
	if err != nil {
		return nil, err
	}
	o.opts.Logf("built a twin with debug information in %.1fs (once per binary)", (realtime.Clock() - start).Seconds())
	p.Identity = o.file.Identity()
	return o.finish(p, "twin")
}

// readTwin links a twin, checks that it is the same program, and reads its debug information.
func (o *opening) readTwin(ctx context.Context, link func(context.Context, twin.Request) (*twin.Twin, error)) (*symindex.Program, error) {
	t, err := link(ctx, twin.Request{TempDir: o.tempDir(), BuildID: o.file.BuildID})
	if err != nil {
		return nil, err
	}
	// The twin is removed before the index is stored: once the index is in the cache, no process
	// looks for what a killed process left.
	defer t.Remove()
	f, err := native.Open(t.Path)
	if err != nil {
		return nil, &Unavailable{Cause: "the twin with debug information cannot be read", Err: err}
	}
	defer f.Close()
	if err := twin.Check(o.file, f); err != nil {
		return nil, &Unavailable{
			Cause: "the test has no debug information, and linking it again gave another program",
			Remedy: "if its source was changed meanwhile, run go test again; else run it with -ldflags='-s=0 -w=0', " +
				"or use leakgate run, which does",
			Err: err,
		}
	}
	p, err := dwarfread.Read(f)
	if err != nil {
		return nil, &Unavailable{
			Cause:  "the debug information of the twin cannot be read",
			Remedy: "run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does",
			Err:    err,
		}
	}
	return p, nil
}

// linkFixed and linkPerByte bound the memory that the go command and its linker take: at most 93 MB
// for a test binary of 3 MB without debug information, 218 for one of 7.5 MB, 240 for one of 11 MB
// and 306 for one of 17 MB (go1.26.8, the packages compiled). Packages that are not in the build
// cache take more.
const (
	linkFixed   = 80 << 20
	linkPerByte = 20 // of the program
)

// indexFixed and indexPerByte bound what it takes to index debug information: 56 MB for a test
// binary of 10 MB. 46 MB were seen, and with 38 MB the kernel ended one process in two.
const (
	indexFixed   = 8 << 20
	indexPerByte = 5        // of the program
	heapArena    = 64 << 20 // address space that the heap reserves at once (go1.26 runtime/malloc.go)
)

// memoryForIndex returns an *Unavailable if a limit leaves too little for an index.
func (o *opening) memoryForIndex() error {
	info, err := os.Stat(o.file.Path)
	if err != nil {
		return nil // reading the file will say why
	}
	n := indexFixed + indexPerByte*info.Size()
	if short := (*headroom.Shortage)(nil); errors.As(system.Check(headroom.Need{Resident: n, Private: n, Address: n + heapArena}), &short) {
		return &Unavailable{Cause: "there is not enough memory to index the program's debug information", Remedy: short.Way(), Err: short}
	}
	return nil
}

// system provides the memory limits.
var system headroom.System

// memoryForLink returns an *Unavailable if a limit leaves too little for linking a twin: the kernel
// would kill the linker for it, and with memory.oom.group the whole container.
func (o *opening) memoryForLink() error {
	info, err := os.Stat(o.file.Path)
	if err != nil {
		return nil // the link will say why
	}
	err = system.Check(headroom.Need{Resident: linkFixed + linkPerByte*info.Size()})
	if err == nil {
		return nil
	}
	return &Unavailable{
		Cause:  "there is not enough memory to link a twin with debug information",
		Remedy: "run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does, or raise the limit",
		Err:    err,
	}
}

// turnTimeout bounds how long a process waits until other processes have built their twins.
const turnTimeout = 5 * time.Minute

// tempDir is where a twin is linked: next to the indexes, where large files are expected.
func (o *opening) tempDir() string {
	if o.cache != nil {
		return o.cache.Dir()
	}
	return os.TempDir()
}

// finish encodes p as an index, stores it in the cache, and returns the copy read back from the
// cache, which is outside the Go heap. If it cannot be stored, finish returns the index in the Go
// heap.
func (o *opening) finish(p *symindex.Program, source string) (*Index, error) {
	x := symindex.New(p)
	if o.cache != nil {
		err := o.cache.Store(o.file.Identity(), x)
		if err != nil {
			o.warn(fmt.Sprintf("the index of debug information could not be kept, so every run builds it again: %v", err))
		} else if stored, err := o.cache.Load(o.file.Identity()); err == nil {
			x = stored
		}
	}
	return x.Opened(source, o.warnings), nil
}

package symindex

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/wholefile"
)

const (
	// largest total size of the indexes; the least recently used are removed first
	cacheBytes     = 1536 << 20
	touchInterval  = time.Hour // resolution of the time of last use
	indexSuffix    = ".index"
	lockName       = "twin.lock"
	cacheSubfolder = "debuginfo"
)

// Cache is a folder of index files, named by what identifies a program and by the version of their
// format. Files appear by renaming and are read into memory as a whole, so readers need no lock. A
// file or folder that another user owns or may write to is not trusted.
type Cache struct {
	dir   string
	limit int64
}

// Dir returns the folder of the cache.
func (c *Cache) Dir() string { return c.dir }

// OpenCache returns the cache in a folder: "" means the environment variable LEAKGATE_CACHE, or
// "leakgate" in os.UserCacheDir; "off" means no cache. It returns nil for "off", and nil with a
// warning if the folder cannot be used.
func OpenCache(dir string) (*Cache, string) {
	dir, err := cacheFolder(dir)
	if err == nil && dir == "" {
		return nil, ""
	}
	if err == nil {
		dir = filepath.Join(dir, cacheSubfolder)
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = trustedFolder(dir)
	}
	if err != nil {
		return nil, fmt.Sprintf("no cache for debug information, so every run reads it again: %v", err)
	}
	return &Cache{dir: dir, limit: cacheBytes}, ""
}

// ErrUntrusted is the error for a file or folder whose contents another user may have made.
var ErrUntrusted = errors.New("not trusted")

func trustedFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if others := writableByOthers(info); others != "" {
		return fmt.Errorf("the folder %s is %w: %s; remove it or take that right away, or set LEAKGATE_CACHE to a folder of your own",
			dir, ErrUntrusted, others)
	}
	return nil
}

func (c *Cache) file(identity string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(Version) + " " + identity))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+indexSuffix)
}

// loaded holds the indexes that this process has read, by path. Their memory is never released,
// because reports keep strings that point into it; a process reads one or two.
var loaded = struct {
	sync.Mutex
	indexes map[string]*Index
}{indexes: make(map[string]*Index)}

// ForgetLoaded makes Load read files again, as in a new process. It is for tests.
func ForgetLoaded() {
	loaded.Lock()
	defer loaded.Unlock()
	clear(loaded.indexes)
}

// Load returns the index of a program. It reads and checks the file unless this process did so
// before.
func (c *Cache) Load(identity string) (*Index, error) {
	path := c.file(identity)
	loaded.Lock()
	defer loaded.Unlock()
	if known := loaded.indexes[path]; known != nil {
		return known, nil
	}
	f, info, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := ReadFile(f, info.Size())
	if err != nil {
		return nil, err
	}
	if x.Identity() != identity {
		return nil, fmt.Errorf("%w: made for another program", ErrNotIndex)
	}
	loaded.indexes[path] = x
	if time.Since(info.ModTime()) > touchInterval {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // fails in a read-only cache, whose order then stays
	}
	return x, nil
}

// openPrivate opens a regular file that no other user can have written. It does not block, whatever
// kind of file is at the path.
func openPrivate(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|privateFlags, 0)
	if err != nil {
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("%w: %s is not a regular file", ErrUntrusted, path)
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is not a regular file", ErrUntrusted, path)
	}
	if err == nil {
		if others := writableByOthers(info); others != "" {
			err = fmt.Errorf("%w: %s: %s", ErrUntrusted, path, others)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Store writes an index file and then removes old files to make room.
func (c *Cache) Store(identity string, x *Index) error {
	path := c.file(identity)
	if err := wholefile.Write(path, 0o600, x.WriteFile); err != nil {
		if way := remedy.ForDisk(err, ""); way != "" {
			err = fmt.Errorf("%w (%s)", err, way)
		}
		return err
	}
	c.trim(filepath.Base(path))
	return nil
}

// Clean removes what killed processes left: temporary files and twins.
func (c *Cache) Clean() { wholefile.RemoveUnclaimed(c.dir, wholefile.TemporaryMark) }

// trim removes what killed processes left, and then the least recently used indexes, except the
// file keep, until the rest fits. It ignores errors: a later call removes what this one could not.
func (c *Cache) trim(keep string) {
	c.Clean()
	dir, err := os.Open(c.dir)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1) // unsorted: the files are sorted by time of use below
	if err != nil {
		return
	}
	var (
		files []fs.FileInfo
		total int64
	)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), indexSuffix) {
			files = append(files, info)
			total += info.Size()
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].ModTime().Before(files[j].ModTime()) })
	for _, f := range files {
		if total <= c.limit {
			return
		}
		if f.Name() == keep {
			continue
		}
		if os.Remove(filepath.Join(c.dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}

// Lock waits until no other process builds a twin, for no longer than limit. If the system or the
// cacheFolder has no file locks, it does not wait: several processes may then build the same twin,
// which is slow but not wrong.
func (c *Cache) Lock(ctx context.Context, limit time.Duration) (unlock func(), err error) {
	const pause = 20 * time.Millisecond
	f, err := os.OpenFile(filepath.Join(c.dir, lockName), os.O_RDWR|os.O_CREATE|privateFlags, 0o600)
	unlock = func() { _ = f.Close() } // of a nil file it does nothing
	if err != nil {
		return unlock, nil //nolint:nilerr // a folder that cannot be written has no lock; see above
	}
	for deadline := realtime.Clock() + limit; ; realtime.Sleep(pause) {
		if locked, err := wholefile.TryLock(f); locked || err != nil {
			return unlock, nil //nolint:nilerr // no locks here; see above
		}
		err := ctx.Err()
		if err == nil && realtime.Clock() > deadline {
			err = context.DeadlineExceeded
		}
		if err != nil {
			unlock()
			return nil, err
		}
	}
}

// cacheFolder returns the folder where indexes are kept; "" if they are not kept.
func cacheFolder(dir string) (string, error) {
	if dir == "" {
		dir = envvar.Cache.Value()
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

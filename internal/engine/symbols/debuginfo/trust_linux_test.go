//go:build go1.26

package debuginfo

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// TestIndexThatOthersCanWrite: an intact index that another user may have made is not used.
func TestIndexThatOthersCanWrite(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, file string)
		want string
	}{
		"group may write":  {func(t *testing.T, file string) { require.NoError(t, os.Chmod(file, 0o620)) }, "other users may write to it (mode 0620)"},
		"others may write": {func(t *testing.T, file string) { require.NoError(t, os.Chmod(file, 0o602)) }, "other users may write to it (mode 0602)"},
		"another owner": {func(t *testing.T, file string) {
			if os.Geteuid() != 0 {
				t.Skip("only the superuser gives files away")
			}
			require.NoError(t, os.Chown(file, 12345, -1))
		}, "it belongs to user 12345"},
		"symbolic link": {func(t *testing.T, file string) {
			require.NoError(t, os.Rename(file, file+".real"))
			require.NoError(t, os.Symlink(file+".real", file))
		}, "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			openProg(t, cache)
			c.make(t, indexFile(t, cache))
			symindex.ForgetLoaded()
			x, _ := openProg(t, cache)
			assert.Equal(t, "own", x.Source())
			require.Len(t, x.Warnings(), 1)
			assert.Contains(t, x.Warnings()[0], c.want)
			assert.Contains(t, x.Warnings()[0], "built again")
			symindex.ForgetLoaded()
			x, _ = openProg(t, cache)
			assert.Equal(t, "cache", x.Source(), "the one that was built is trusted")
			assert.Empty(t, x.Warnings())
			info, err := os.Lstat(indexFile(t, cache))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode())
		})
	}
}

// TestFolderThatOthersCanWrite: a cache folder that other users may write to is not used.
func TestFolderThatOthersCanWrite(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	openProg(t, cache)
	folder := filepath.Join(cache, "debuginfo")
	for _, dir := range []string{cache, folder} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
	for mode, trusted := range map[os.FileMode]bool{0o755: true, 0o775: false, 0o757: false, 0o777 | os.ModeSticky: true} {
		t.Run(mode.String(), func(t *testing.T) {
			require.NoError(t, os.Chmod(folder, mode))
			symindex.ForgetLoaded()
			x, _ := openProg(t, cache)
			if trusted {
				assert.Equal(t, "cache", x.Source())
				assert.Empty(t, x.Warnings())
				return
			}
			assert.Equal(t, "own", x.Source())
			require.Len(t, x.Warnings(), 1)
			assert.Contains(t, x.Warnings()[0], "other users may write to it")
			assert.Contains(t, x.Warnings()[0], "LEAKGATE_CACHE")
		})
	}
}

// TestOtherThingsInTheIndexPlace puts something other than a regular file in the place of the
// index. None of these may block Open.
func TestOtherThingsInTheIndexPlace(t *testing.T) {
	for name, place := range map[string]func(path string) error{
		"named pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"dangling link": func(path string) error { return os.Symlink("/does/not/exist", path) },
		"link to a terminal, or to zeros without end": func(path string) error { return os.Symlink("/dev/zero", path) },
		"socket": func(path string) error {
			return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0)
		},
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			openProg(t, cache)
			file := indexFile(t, cache)
			require.NoError(t, os.Remove(file))
			require.NoError(t, place(file))
			symindex.ForgetLoaded()
			x, _ := openProg(t, cache)
			assert.Equal(t, "own", x.Source())
			require.NotEmpty(t, x.Warnings())
			assert.Contains(t, x.Warnings()[0], "is not a regular file")
			checkProgTypes(t, x)
			if len(x.Warnings()) == 1 { // the new index replaced it
				symindex.ForgetLoaded()
				x, _ = openProg(t, cache)
				assert.Equal(t, "cache", x.Source())
			}
		})
	}
	t.Run("device", func(t *testing.T) {
		cache := t.TempDir()
		openProg(t, cache)
		file := indexFile(t, cache)
		require.NoError(t, os.Remove(file))
		if err := syscall.Mknod(file, syscall.S_IFCHR|0o600, 1<<8|5); err != nil {
			t.Skip("devices cannot be made here: ", err)
		}
		symindex.ForgetLoaded()
		x, _ := openProg(t, cache)
		assert.Equal(t, "own", x.Source())
	})
}

// TestIndexTakenAway truncates, overwrites and replaces the file of an index in use, as rsync
// --inplace or a stale NFS handle would. The open index keeps its contents, and the next Open
// returns a correct index.
func TestIndexTakenAway(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, file string){
		"truncated": func(t *testing.T, file string) { require.NoError(t, os.Truncate(file, 4096)) },
		"emptied":   func(t *testing.T, file string) { require.NoError(t, os.Truncate(file, 0)) },
		"overwritten": func(t *testing.T, file string) {
			info, err := os.Stat(file)
			require.NoError(t, err)
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.Write(bytes.Repeat([]byte{0xff}, int(info.Size())))
			require.NoError(t, err)
			require.NoError(t, f.Close())
		},
		"replaced": func(t *testing.T, file string) { require.NoError(t, wholefile.WriteData(file, 0o600, []byte("other"))) },
		"removed":  func(t *testing.T, file string) { require.NoError(t, os.Remove(file)) },
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			openProg(t, cache)
			built, err := Build(progtest.Open(t, progtest.Build(t)))
			require.NoError(t, err)
			symindex.ForgetLoaded()
			used, _ := openProg(t, cache)
			require.Equal(t, "cache", used.Source())
			take(t, indexFile(t, cache))
			assert.Equal(t, built.Globals(), used.Globals())
			assert.Equal(t, built.Funcs(), used.Funcs())
			for id := range TypeID(built.NumTypes()) {
				require.Equal(t, built.Type(id+1), used.Type(id+1))
			}
			for _, process := range []string{"the same", "another"} {
				x, _ := openProg(t, cache)
				checkProgTypes(t, x)
				if process == "the same" {
					symindex.ForgetLoaded()
				}
			}
			symindex.ForgetLoaded()
			x, _ := openProg(t, cache)
			assert.Equal(t, "cache", x.Source(), "it was repaired")
		})
	}
}

// child returns a command that runs only the calling test of this binary, with what in the
// environment.
func child(t *testing.T, what string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), "LEAKGATE_TEST_CHILD="+what), env...)
	return cmd
}

// TestKilledWhileWriting kills processes that write an index over and over. Readers see a complete
// index, and the next write removes the temporary files of the killed processes.
func TestKilledWhileWriting(t *testing.T) {
	path := os.Getenv("LEAKGATE_TEST_PROGRAM")
	if os.Getenv("LEAKGATE_TEST_CHILD") != "" {
		c, warning := symindex.OpenCache(os.Getenv("LEAKGATE_TEST_CACHE"))
		require.Empty(t, warning)
		x, err := Build(progtest.Open(t, path))
		require.NoError(t, err)
		fmt.Println("READY")
		for {
			require.NoError(t, c.Store(x.Identity(), x))
		}
	}
	path = progtest.Build(t)
	cache := t.TempDir()
	built, _ := openProg(t, cache)
	for round := range 8 {
		cmd := child(t, "write", "LEAKGATE_TEST_PROGRAM="+path, "LEAKGATE_TEST_CACHE="+cache)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		ready := make([]byte, 4096)
		for !bytes.Contains(ready, []byte("READY")) {
			n, err := out.Read(ready)
			require.NoError(t, err)
			ready = ready[:n]
			ready = ready[:cap(ready)]
		}
		for range 5 {
			symindex.ForgetLoaded()
			x, log := openProg(t, cache)
			require.Equal(t, "cache", x.Source(), log)
		}
		time.Sleep(time.Duration(round) * 300 * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		symindex.ForgetLoaded()
		x, log := openProg(t, cache)
		require.Equal(t, "cache", x.Source(), log)
		require.Equal(t, built.NumTypes(), x.NumTypes())
	}
	left := filepath.Join(cache, "debuginfo", ".leakgate"+wholefile.TemporaryMark+"99-1")
	require.NoError(t, os.WriteFile(left, []byte("half"), 0o600))
	require.NoError(t, os.Remove(indexFile(t, cache)))
	symindex.ForgetLoaded()
	openProg(t, cache)
	temporary, err := filepath.Glob(filepath.Join(cache, "debuginfo", "*"+wholefile.TemporaryMark+"*"))
	require.NoError(t, err)
	hidden, err := filepath.Glob(filepath.Join(cache, "debuginfo", ".*"+wholefile.TemporaryMark+"*"))
	require.NoError(t, err)
	assert.Empty(t, append(temporary, hidden...))
}

// TestNoRoomForTheIndex limits files to a few bytes: then the index works from memory, and the
// warning has a remedy.
func TestNoRoomForTheIndex(t *testing.T) {
	if os.Getenv("LEAKGATE_TEST_CHILD") != "" {
		const few = 4096
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: few, Max: few}))
		x, err := Open(t.Context(), Options{File: progtest.Open(t, os.Getenv("LEAKGATE_TEST_PROGRAM")), CacheDir: os.Getenv("LEAKGATE_TEST_CACHE")})
		require.NoError(t, err)
		checkProgTypes(t, x)
		fmt.Println("WARNINGS", x.Warnings())
		return
	}
	cache := t.TempDir()
	out, err := child(t, "open", "LEAKGATE_TEST_PROGRAM="+progtest.Build(t), "LEAKGATE_TEST_CACHE="+cache).CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, warnings, _ := strings.Cut(string(out), "WARNINGS")
	assert.Contains(t, warnings, "could not be kept")
	assert.Contains(t, warnings, "ulimit -f")
	entries, err := os.ReadDir(filepath.Join(cache, "debuginfo"))
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// TestNoMemoryForTheIndex refuses the memory for a stored index. The result is an error that names
// the limit; the index is not built again, which takes more memory.
func TestNoMemoryForTheIndex(t *testing.T) {
	cache := os.Getenv("LEAKGATE_TEST_CACHE")
	if os.Getenv("LEAKGATE_TEST_CHILD") != "" {
		program := os.Getenv("LEAKGATE_TEST_PROGRAM")
		info, err := os.Stat(indexFile(t, cache))
		require.NoError(t, err)
		heapForThirtyMore()
		room := uint64(info.Size() / 2)
		var before syscall.Rlimit
		require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_AS, &before))
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: addressSpace(t) + room, Max: before.Max}))
		_, err = Open(t.Context(), Options{File: progtest.Open(t, program), CacheDir: cache})
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &before))
		var u *Unavailable
		require.ErrorAs(t, err, &u)
		fmt.Println("CAUSE", u)
		return
	}
	cache = t.TempDir()
	openProg(t, cache)
	out, err := child(t, "open", "LEAKGATE_TEST_PROGRAM="+progtest.Build(t), "LEAKGATE_TEST_CACHE="+cache).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "ulimit -v")
}

// heapForThirtyMore makes room for the next 30 MB of the heap, so that they need no memory of the
// system: the runtime ends the process if the system refuses memory. Free memory stays mapped
// (go1.26 and go1.27 runtime/mheap.go, grow), and there is no further garbage collection.
func heapForThirtyMore() {
	kept := make([][]byte, 0, 32)
	for range cap(kept) {
		kept = append(kept, make([]byte, 1<<20))
	}
	runtime.KeepAlive(kept)
	runtime.GC()
	debug.SetGCPercent(-1)
}

// addressSpace returns the size of the address space in bytes, which RLIMIT_AS bounds: the first
// figure of /proc/self/statm, which is in pages.
func addressSpace(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseUint(pages, 10, 64)
	require.NoError(t, err)
	return n * uint64(os.Getpagesize())
}

func TestNoMemoryForTheTwin(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "meminfo"), []byte("MemTotal: 65536 kB\nMemAvailable: 61440 kB\nSwapFree: 0 kB\n"), 0o600))
	before := system
	system = headroom.System{Root: root}
	t.Cleanup(func() { system = before })
	self, err := os.Executable()
	require.NoError(t, err)
	cache := t.TempDir()
	o := opening{file: progtest.Open(t, self), opts: Options{CacheDir: cache}}
	_, err = o.fromTwin(t.Context())
	var u *Unavailable
	require.ErrorAs(t, err, &u)
	assert.Equal(t, "there is not enough memory to link a twin with debug information", u.Cause)
	var short *headroom.Shortage
	require.ErrorAs(t, err, &short)
	assert.Greater(t, short.Needed, int64(linkFixed))
}

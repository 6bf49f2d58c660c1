package twin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// maxAncestors is how many ancestors are searched for go test: its -exec wrapper may be in between.
const maxAncestors = 5

var (
	kernel32          = syscall.NewLazyDLL("kernel32.dll")
	readProcessMemory = kernel32.NewProc("ReadProcessMemory")
	imageName         = kernel32.NewProc("QueryFullProcessImageNameW")
	queryProcess      = syscall.NewLazyDLL("ntdll.dll").NewProc("NtQueryInformationProcess")
)

// Of winnt.h.
const (
	processQuery      = 0x0400
	processReadMemory = 0x0010
)

// findGoTest finds the go test that runs this process among its ancestors. It accepts a go test
// only if its child is this process, or a process that was told to run this executable: a test may
// run the binaries of other tests.
func findGoTest() (process, bool) {
	self, err := os.Executable()
	if err != nil {
		return process{}, false
	}
	parents := parentsOf()
	child, pid := uint32(os.Getpid()), uint32(os.Getppid())
	var childArgs []string
	for range maxAncestors {
		a, err := openAncestor(pid, child)
		if err != nil {
			break
		}
		p, err := a.read()
		a.close()
		if err == nil && isGoCommand(p.exe) && slices.Contains(p.args, "test") {
			runsThis := func(arg string) bool { return strings.EqualFold(filepath.Clean(arg), self) }
			return p, child == uint32(os.Getpid()) || slices.ContainsFunc(childArgs, runsThis)
		}
		childArgs, child, pid = p.args, pid, parents[pid]
	}
	return process{}, false
}

// parentsOf maps the id of each process to the id of its parent.
func parentsOf() map[uint32]uint32 {
	list, err := syscall.CreateToolhelp32Snapshot(syscall.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = syscall.CloseHandle(list) }()
	found := make(map[uint32]uint32)
	entry := syscall.ProcessEntry32{Size: uint32(unsafe.Sizeof(syscall.ProcessEntry32{}))}
	for err := syscall.Process32First(list, &entry); err == nil; err = syscall.Process32Next(list, &entry) {
		found[entry.ProcessID] = entry.ParentProcessID
	}
	return found
}

// An ancestor is the handle of a process.
type ancestor syscall.Handle

// openAncestor opens the process pid if it is older than child, which has it as its parent. If it
// is younger, the parent has ended and another process has its id.
func openAncestor(pid, child uint32) (ancestor, error) {
	h, err := syscall.OpenProcess(processQuery|processReadMemory, false, pid)
	if err != nil {
		return 0, err
	}
	began, err := begin(h)
	if err == nil {
		var c syscall.Handle
		if c, err = syscall.OpenProcess(processQuery, false, child); err == nil {
			var later int64
			later, err = begin(c)
			_ = syscall.CloseHandle(c)
			if err == nil && began > later {
				err = os.ErrProcessDone
			}
		}
	}
	if err != nil {
		_ = syscall.CloseHandle(h)
		return 0, err
	}
	return ancestor(h), nil
}

// begin returns the time at which a process was created, in nanoseconds.
func begin(h syscall.Handle) (int64, error) {
	var created, exited, kernel, user syscall.Filetime
	err := syscall.GetProcessTimes(h, &created, &exited, &kernel, &user)
	return created.Nanoseconds(), err
}

func (a ancestor) close() { _ = syscall.CloseHandle(syscall.Handle(a)) }

// Offsets in the process environment block of a 64-bit process (winternl.h, PEB and
// RTL_USER_PROCESS_PARAMETERS; the same since Windows XP), and arguments of the calls that find it.
const (
	pebParameters      = 0x20
	parametersFolder   = 0x38
	parametersCommand  = 0x70
	basicInformation   = 0 // ProcessBasicInformation
	longestText        = 1 << 16
	basicInformationAt = 1 // the word with the address of the block
)

// read reads a process's program, arguments and current folder out of its memory.
func (a ancestor) read() (p process, err error) {
	var name [longestText / 2]uint16
	n := uint32(len(name))
	if ok, _, err := imageName.Call(uintptr(a), 0, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&n))); ok == 0 {
		return p, err
	}
	p.exe = syscall.UTF16ToString(name[:n])
	var info [6]uintptr
	if status, _, _ := queryProcess.Call(uintptr(a), basicInformation, uintptr(unsafe.Pointer(&info)), unsafe.Sizeof(info), 0); status != 0 {
		return p, syscall.Errno(status)
	}
	parameters, err := a.word(info[basicInformationAt] + pebParameters)
	if err != nil {
		return p, err
	}
	if p.dir, err = a.text(parameters + parametersFolder); err != nil {
		return p, err
	}
	p.dir = filepath.Clean(p.dir)
	line, err := a.text(parameters + parametersCommand)
	if err != nil {
		return p, err
	}
	p.args, err = splitCommand(line)
	return p, err
}

func (a ancestor) memory(at uintptr, to unsafe.Pointer, n uintptr) error {
	var got uintptr
	if ok, _, err := readProcessMemory.Call(uintptr(a), at, uintptr(to), n, uintptr(unsafe.Pointer(&got))); ok == 0 || got != n {
		return err
	}
	return nil
}

func (a ancestor) word(at uintptr) (w uintptr, err error) {
	err = a.memory(at, unsafe.Pointer(&w), unsafe.Sizeof(w))
	return w, err
}

// text reads a UNICODE_STRING.
func (a ancestor) text(at uintptr) (string, error) {
	var s struct {
		length, room uint16 // bytes
		at           uintptr
	}
	if err := a.memory(at, unsafe.Pointer(&s), unsafe.Sizeof(s)); err != nil || s.length == 0 {
		return "", err
	}
	text := make([]uint16, s.length/2)
	err := a.memory(s.at, unsafe.Pointer(unsafe.SliceData(text)), uintptr(len(text)*2))
	return syscall.UTF16ToString(text), err
}

// splitCommand splits a command line into arguments, as programs do.
func splitCommand(line string) ([]string, error) {
	text, err := syscall.UTF16PtrFromString(line)
	if err != nil {
		return nil, err
	}
	var n int32
	list, err := syscall.CommandLineToArgv(text, &n)
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = syscall.LocalFree(syscall.Handle(unsafe.Pointer(list))) }()
	args := make([]string, n)
	for i := range args {
		args[i] = syscall.UTF16ToString(list[i][:])
	}
	return args, nil
}

func initialEnviron() []string { return startEnviron }

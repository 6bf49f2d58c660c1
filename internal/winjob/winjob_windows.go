package winjob

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"
)

var (
	kernel32          = syscall.NewLazyDLL("kernel32.dll")
	createJob         = kernel32.NewProc("CreateJobObjectW")
	setInformation    = kernel32.NewProc("SetInformationJobObject")
	assignProcess     = kernel32.NewProc("AssignProcessToJobObject")
	terminateJob      = kernel32.NewProc("TerminateJobObject")
	generateCtrlEvent = kernel32.NewProc("GenerateConsoleCtrlEvent")
	ntResumeProcess   = syscall.NewLazyDLL("ntdll.dll").NewProc("NtResumeProcess")
)

// Of winnt.h and winbase.h.
const (
	createSuspended     = 0x4
	extendedInformation = 9 // JobObjectExtendedLimitInformation
	killOnJobClose      = 0x2000
	processSetQuota     = 0x0100
	processSuspend      = 0x0800
	ctrlBreakEvent      = 1
)

// extendedLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type extendedLimits struct {
	processTime, jobTime       int64
	flags                      uint32
	minWorkingSet              uintptr
	maxWorkingSet              uintptr
	activeProcesses            uint32
	affinity                   uintptr
	priority, scheduling       uint32
	io                         [6]uint64
	processMemory, jobMemory   uintptr
	peakProcess, peakJobMemory uintptr
}

// A Job is a command and all processes that descend from it. They end when the job is closed, or
// when this process ends in whatever way. The methods may be called concurrently.
type Job struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	handle syscall.Handle // 0: none, or closed
}

// New returns a job for a command that has not been started. Close must be called.
func New(cmd *exec.Cmd) *Job { return &Job{cmd: cmd} }

// Start starts the command. The command runs nothing before it is in the job. It has a group of its
// own at the console: a Ctrl-C there reaches this process alone. Where the system refuses a job,
// the command runs without one: then Kill ends only the command.
func (j *Job) Start() error {
	handle, err := newJob()
	if err != nil {
		return j.cmd.Start()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cmd.SysProcAttr == nil {
		j.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	j.cmd.SysProcAttr.CreationFlags |= createSuspended | syscall.CREATE_NEW_PROCESS_GROUP
	if err := j.cmd.Start(); err != nil {
		_ = syscall.CloseHandle(handle)
		return err
	}
	// The process keeps its id while package os has a handle of it.
	process, err := syscall.OpenProcess(processSetQuota|processSuspend|syscall.PROCESS_TERMINATE, false, uint32(j.cmd.Process.Pid))
	if err == nil {
		defer func() { _ = syscall.CloseHandle(process) }()
		if ok, _, _ := assignProcess.Call(uintptr(handle), uintptr(process)); ok != 0 {
			j.handle = handle
		}
		if status, _, _ := ntResumeProcess.Call(uintptr(process)); status != 0 {
			err = syscall.Errno(status)
		}
	}
	if j.handle == 0 {
		_ = syscall.CloseHandle(handle)
	}
	if err != nil {
		_ = j.cmd.Process.Kill() // it would stay suspended for ever
		_ = j.cmd.Wait()
	}
	return err
}

func newJob() (syscall.Handle, error) {
	h, _, err := createJob.Call(0, 0)
	if h == 0 {
		return 0, err
	}
	limits := extendedLimits{flags: killOnJobClose}
	ok, _, err := setInformation.Call(h, extendedInformation, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if ok == 0 {
		_ = syscall.CloseHandle(syscall.Handle(h))
		return 0, err
	}
	return syscall.Handle(h), nil
}

// Kill ends all processes of the job.
func (j *Job) Kill() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle == 0 {
		if j.cmd.Process == nil {
			return os.ErrProcessDone
		}
		return j.cmd.Process.Kill()
	}
	if ok, _, err := terminateJob.Call(uintptr(j.handle), 1); ok == 0 {
		return err
	}
	return nil
}

// Interrupt sends a Ctrl-Break at the console to the command and the processes that it started
// there. Go programs receive it as os.Interrupt. Without a console nobody receives it.
func (j *Job) Interrupt() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cmd.Process == nil {
		return os.ErrProcessDone
	}
	if ok, _, err := generateCtrlEvent.Call(ctrlBreakEvent, uintptr(j.cmd.Process.Pid)); ok == 0 {
		return err
	}
	return nil
}

// Close ends what is left of the job. It may be called more than once.
func (j *Job) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		_ = syscall.CloseHandle(j.handle)
		j.handle = 0
	}
}

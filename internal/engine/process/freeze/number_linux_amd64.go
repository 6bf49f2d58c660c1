package freeze

const sysMemfdCreate = 319 // Linux 3.17, arch/x86/entry/syscalls/syscall_64.tbl

package freeze

const sysMemfdCreate = 279 // Linux 3.17, include/uapi/asm-generic/unistd.h

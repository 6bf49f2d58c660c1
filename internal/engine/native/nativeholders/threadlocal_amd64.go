package nativeholders

// threadLocalBelow says whether thread-local variables are below the struct pthread of a thread
// (ELF Handling For Thread-Local Storage, variant II).
const threadLocalBelow = true

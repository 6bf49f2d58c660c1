package freeze

const sysSeccomp = 277

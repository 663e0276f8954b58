/* switch.S: fiber.h describes these three. A left stack holds, from its stack pointer upwards, what mb_switch_restore takes. */
#if defined(__x86_64__)
	.text
	.globl mb_switch, mb_switch_restore, mb_fiber_entry
	.hidden mb_switch, mb_switch_restore, mb_fiber_entry
	.type mb_switch, @function
	.p2align 4
mb_switch:                              /* rdi: where to save, rsi: the stack to enter, rdx: the value */
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	subq $8, %rsp
	stmxcsr (%rsp)
	fnstcw 4(%rsp)
	movq %rsp, (%rdi)
	movq %rsi, %rsp
mb_switch_restore:
	ldmxcsr (%rsp)
	fldcw 4(%rsp)
	addq $8, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	movq %rdx, %rax
	popq %rcx
	jmp *%rcx
	.size mb_switch, .-mb_switch
	.type mb_fiber_entry, @function
	.p2align 4
mb_fiber_entry:
	.cfi_startproc
	.cfi_undefined rip
	movq %rax, %rdi
	xorl %ebp, %ebp
	call mb_fiber_main@PLT
	ud2
	.cfi_endproc
	.size mb_fiber_entry, .-mb_fiber_entry
#elif defined(__aarch64__)
	.text
	.globl mb_switch, mb_switch_restore, mb_fiber_entry
	.hidden mb_switch, mb_switch_restore, mb_fiber_entry
	.type mb_switch, %function
	.p2align 4
mb_switch:                              /* x0: where to save, x1: the stack to enter, x2: the value */
	sub sp, sp, #176
	stp x19, x20, [sp]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mrs x9, fpcr
	str x9, [sp, #160]
	mov x9, sp
	str x9, [x0]
	mov sp, x1
mb_switch_restore:
	ldr x9, [sp, #160]
	msr fpcr, x9
	ldp x19, x20, [sp]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #176
	mov x0, x2
	ret
	.size mb_switch, .-mb_switch
	.type mb_fiber_entry, %function
	.p2align 4
mb_fiber_entry:
	mov x29, xzr
	bl mb_fiber_main
	brk #1
	.size mb_fiber_entry, .-mb_fiber_entry
#endif
	.section .note.GNU-stack, "", %progbits

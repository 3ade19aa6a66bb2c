	.file	"TVMMod"
	.text
	.globl	__tvm_ffi_fused_conv_add_relu
	.p2align	4
	.type	__tvm_ffi_fused_conv_add_relu,@function
__tvm_ffi_fused_conv_add_relu:
.Lfunc_begin0:
	.file	1 "." "IRModule.CodeGenLLVM"
	.loc	1 0 0
	.cfi_startproc
	pushq	%r15
	.cfi_def_cfa_offset 16
	pushq	%r14
	.cfi_def_cfa_offset 24
	pushq	%r12
	.cfi_def_cfa_offset 32
	pushq	%rbx
	.cfi_def_cfa_offset 40
	pushq	%rax
	.cfi_def_cfa_offset 48
	.cfi_offset %rbx, -40
	.cfi_offset %r12, -32
	.cfi_offset %r14, -24
	.cfi_offset %r15, -16
	cmpl	$4, %edx
	jne	.LBB0_94
.Ltmp0:
	testq	%rsi, %rsi
	je	.LBB0_95
.Ltmp1:
	movl	(%rsi), %eax
.Ltmp2:
	cmpl	$63, %eax
	jle	.LBB0_7
.Ltmp3:
	cmpl	$70, %eax
	jne	.LBB0_9
.Ltmp4:
	movq	8(%rsi), %rax
.Ltmp5:
	addq	$24, %rax
	movl	16(%rsi), %ecx
.Ltmp6:
	cmpl	$63, %ecx
	jg	.LBB0_10
.Ltmp7:
.LBB0_5:
	cmpl	$7, %ecx
	ja	.LBB0_90
.Ltmp8:
	movl	$145, %edx
.Ltmp9:
	btl	%ecx, %edx
	jb	.LBB0_14
	jmp	.LBB0_90
.Ltmp10:
.LBB0_7:
	cmpl	$7, %eax
	ja	.LBB0_89
.Ltmp11:
	movl	$145, %ecx
.Ltmp12:
	btl	%eax, %ecx
	jae	.LBB0_89
.Ltmp13:
.LBB0_9:
	movq	8(%rsi), %rax
.Ltmp14:
	movl	16(%rsi), %ecx
.Ltmp15:
	cmpl	$63, %ecx
	jle	.LBB0_5
.Ltmp16:
.LBB0_10:
	cmpl	$70, %ecx
	jne	.LBB0_14
.Ltmp17:
	movq	24(%rsi), %r9
	addq	$24, %r9
	movl	32(%rsi), %ecx
.Ltmp18:
	cmpl	$63, %ecx
	jg	.LBB0_15
.Ltmp19:
.LBB0_12:
	cmpl	$7, %ecx
	ja	.LBB0_91
.Ltmp20:
	movl	$145, %edx
	btl	%ecx, %edx
	jb	.LBB0_19
	jmp	.LBB0_91
.Ltmp21:
.LBB0_14:
	movq	24(%rsi), %r9
	movl	32(%rsi), %ecx
.Ltmp22:
	cmpl	$63, %ecx
	jle	.LBB0_12
.Ltmp23:
.LBB0_15:
	cmpl	$70, %ecx
	jne	.LBB0_19
.Ltmp24:
	movq	40(%rsi), %r10
	addq	$24, %r10
	movl	48(%rsi), %ecx
.Ltmp25:
	cmpl	$63, %ecx
	jg	.LBB0_20
.Ltmp26:
.LBB0_17:
	cmpl	$7, %ecx
	ja	.LBB0_92
.Ltmp27:
	movl	$145, %edx
	btl	%ecx, %edx
	jb	.LBB0_22
	jmp	.LBB0_92
.Ltmp28:
.LBB0_19:
	movq	40(%rsi), %r10
	movl	48(%rsi), %ecx
.Ltmp29:
	cmpl	$63, %ecx
	jle	.LBB0_17
.Ltmp30:
.LBB0_20:
	cmpl	$70, %ecx
	jne	.LBB0_22
.Ltmp31:
	movq	56(%rsi), %r11
	addq	$24, %r11
	jmp	.LBB0_23
.Ltmp32:
.LBB0_22:
	movq	56(%rsi), %r11
.Ltmp33:
.LBB0_23:
	testq	%rax, %rax
	je	.LBB0_89
.Ltmp34:
	cmpl	$4, 16(%rax)
	jne	.LBB0_96
.Ltmp35:
	cmpw	$1, 22(%rax)
	jne	.LBB0_97
.Ltmp36:
	cmpb	$32, 21(%rax)
	jne	.LBB0_97
.Ltmp37:
	cmpb	$2, 20(%rax)
	jne	.LBB0_97
.Ltmp38:
	cmpl	$1, 8(%rax)
	jne	.LBB0_98
.Ltmp39:
	testq	%r9, %r9
	je	.LBB0_90
.Ltmp40:
	cmpl	$4, 16(%r9)
	jne	.LBB0_99
.Ltmp41:
	cmpw	$1, 22(%r9)
	jne	.LBB0_100
.Ltmp42:
	cmpb	$32, 21(%r9)
	jne	.LBB0_100
.Ltmp43:
	cmpb	$2, 20(%r9)
	jne	.LBB0_100
.Ltmp44:
	cmpl	$1, 8(%r9)
	jne	.LBB0_101
.Ltmp45:
	testq	%r10, %r10
	je	.LBB0_91
.Ltmp46:
	cmpl	$4, 16(%r10)
	jne	.LBB0_102
.Ltmp47:
	cmpw	$1, 22(%r10)
	jne	.LBB0_103
.Ltmp48:
	cmpb	$32, 21(%r10)
	jne	.LBB0_103
.Ltmp49:
	cmpb	$2, 20(%r10)
	jne	.LBB0_103
.Ltmp50:
	cmpl	$1, 8(%r10)
	jne	.LBB0_104
.Ltmp51:
	testq	%r11, %r11
	je	.LBB0_92
.Ltmp52:
	cmpl	$4, 16(%r11)
	jne	.LBB0_105
.Ltmp53:
	cmpw	$1, 22(%r11)
	jne	.LBB0_106
.Ltmp54:
	cmpb	$32, 21(%r11)
	jne	.LBB0_106
.Ltmp55:
	cmpb	$2, 20(%r11)
	jne	.LBB0_106
.Ltmp56:
	cmpl	$1, 8(%r11)
	jne	.LBB0_107
.Ltmp57:
	movq	24(%rax), %r12
.Ltmp58:
	movq	32(%rax), %rsi
.Ltmp59:
	movl	12(%rax), %edi
.Ltmp60:
	movq	24(%r9), %r15
.Ltmp61:
	movq	32(%r9), %rdx
.Ltmp62:
	movq	24(%r10), %r14
.Ltmp63:
	movq	32(%r10), %rcx
.Ltmp64:
	movq	24(%r11), %rbx
.Ltmp65:
	movq	32(%r11), %r8
.Ltmp66:
	testq	%rsi, %rsi
	je	.LBB0_51
.Ltmp67:
	cmpq	$12544, 8(%rsi)
	jne	.LBB0_109
.Ltmp68:
	cmpq	$112, 16(%rsi)
	jne	.LBB0_109
.Ltmp69:
	cmpq	$1, 24(%rsi)
	jne	.LBB0_109
.Ltmp70:
.LBB0_51:
	movq	(%rax), %rsi
.Ltmp71:
	testq	%rsi, %rsi
	je	.LBB0_108
.Ltmp72:
	testq	%rdx, %rdx
	je	.LBB0_56
.Ltmp73:
	cmpq	$9, (%rdx)
	jne	.LBB0_111
.Ltmp74:
	cmpq	$3, 16(%rdx)
	jne	.LBB0_111
.Ltmp75:
	cmpq	$1, 24(%rdx)
	jne	.LBB0_111
.Ltmp76:
.LBB0_56:
	cmpl	12(%r9), %edi
	jne	.LBB0_110
.Ltmp77:
	movq	(%r9), %rdx
.Ltmp78:
	testq	%rdx, %rdx
	je	.LBB0_112
.Ltmp79:
	testq	%rcx, %rcx
	je	.LBB0_60
.Ltmp80:
	cmpq	$1, 8(%rcx)
	jne	.LBB0_113
.Ltmp81:
.LBB0_60:
	cmpl	12(%r10), %edi
	jne	.LBB0_114
.Ltmp82:
	movq	(%r10), %rcx
.Ltmp83:
	testq	%rcx, %rcx
	je	.LBB0_115
.Ltmp84:
	testq	%r8, %r8
	je	.LBB0_66
.Ltmp85:
	cmpq	$3136, 8(%r8)
	jne	.LBB0_117
.Ltmp86:
	cmpq	$56, 16(%r8)
	jne	.LBB0_117
.Ltmp87:
	cmpq	$1, 24(%r8)
	jne	.LBB0_117
.Ltmp88:
.LBB0_66:
	cmpl	12(%r11), %edi
	jne	.LBB0_116
.Ltmp89:
	movq	(%r11), %r8
.Ltmp90:
	testq	%r8, %r8
	je	.LBB0_119
.Ltmp91:
	cmpq	$1, (%r12)
	jne	.LBB0_123
.Ltmp92:
	cmpq	$96, 8(%r12)
	jne	.LBB0_124
.Ltmp93:
	cmpq	$112, 16(%r12)
	jne	.LBB0_125
.Ltmp94:
	cmpq	$112, 24(%r12)
	jne	.LBB0_126
.Ltmp95:
	cmpq	$0, 40(%rax)
	jne	.LBB0_128
.Ltmp96:
	cmpq	$96, (%r15)
	jne	.LBB0_129
.Ltmp97:
	cmpq	$1, 8(%r15)
	jne	.LBB0_130
.Ltmp98:
	cmpq	$3, 16(%r15)
	jne	.LBB0_133
.Ltmp99:
	cmpq	$3, 24(%r15)
	jne	.LBB0_134
.Ltmp100:
	cmpq	$0, 40(%r9)
	jne	.LBB0_135
.Ltmp101:
	cmpq	$1, (%r14)
	jne	.LBB0_138
.Ltmp102:
	cmpq	$96, 8(%r14)
	jne	.LBB0_139
.Ltmp103:
	cmpq	$1, 16(%r14)
	jne	.LBB0_140
.Ltmp104:
	cmpq	$1, 24(%r14)
	jne	.LBB0_141
.Ltmp105:
	cmpq	$0, 40(%r10)
	jne	.LBB0_142
.Ltmp106:
	cmpq	$1, (%rbx)
	jne	.LBB0_144
.Ltmp107:
	cmpq	$96, 8(%rbx)
	jne	.LBB0_145
.Ltmp108:
	cmpq	$56, 16(%rbx)
	jne	.LBB0_146
.Ltmp109:
	cmpq	$56, 24(%rbx)
	jne	.LBB0_147
.Ltmp110:
	cmpq	$0, 40(%r11)
	jne	.LBB0_148
.Ltmp111:
	addq	$8, %rsp
	.cfi_def_cfa_offset 40
	popq	%rbx
.Ltmp112:
	.cfi_def_cfa_offset 32
	popq	%r12
.Ltmp113:
	.cfi_def_cfa_offset 24
	popq	%r14
.Ltmp114:
	.cfi_def_cfa_offset 16
	popq	%r15
.Ltmp115:
	.cfi_def_cfa_offset 8
	jmp	fused_conv_add_relu_compute_
.Ltmp116:
.LBB0_89:
	.cfi_def_cfa_offset 48
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp117:
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB0_93
.Ltmp118:
.LBB0_90:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp119:
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
	jmp	.LBB0_93
.Ltmp120:
.LBB0_91:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp121:
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.13(%rip), %rcx
	jmp	.LBB0_93
.Ltmp122:
.LBB0_92:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp123:
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.14(%rip), %rcx
.Ltmp124:
.LBB0_93:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.5(%rip), %r9
	jmp	.LBB0_121
.Ltmp125:
.LBB0_94:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp126:
	leaq	.L.str.1(%rip), %rdx
.Ltmp127:
	leaq	.L.str.2(%rip), %rcx
.Ltmp128:
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB0_120
.Ltmp129:
.LBB0_95:
	subq	$16, %rsp
	.cfi_adjust_cfa_offset 16
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
.Ltmp130:
	leaq	.L.str.7(%rip), %rdx
.Ltmp131:
	leaq	.L.str.4(%rip), %rcx
.Ltmp132:
	leaq	.L.str.5(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
.Ltmp133:
	jmp	.LBB0_122
.Ltmp134:
.LBB0_96:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp135:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.17(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_151
.Ltmp136:
.LBB0_97:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str(%rip), %rdi
.Ltmp137:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.17(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_151
.Ltmp138:
.LBB0_98:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.22(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp139:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.17(%rip), %rcx
	leaq	.L.str.21(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_151
.Ltmp140:
.LBB0_99:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp141:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_137
.Ltmp142:
.LBB0_100:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str(%rip), %rdi
.Ltmp143:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	jmp	.LBB0_137
.Ltmp144:
.LBB0_101:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.22(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp145:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.21(%rip), %r8
	jmp	.LBB0_137
.Ltmp146:
.LBB0_102:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp147:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	leaq	.L.str.13(%rip), %r9
	jmp	.LBB0_151
.Ltmp148:
.LBB0_103:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str(%rip), %rdi
.Ltmp149:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	leaq	.L.str.13(%rip), %r9
	jmp	.LBB0_151
.Ltmp150:
.LBB0_104:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.22(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp151:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.21(%rip), %r8
	leaq	.L.str.13(%rip), %r9
	jmp	.LBB0_151
.Ltmp152:
.LBB0_105:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp153:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.25(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_150
.Ltmp154:
.LBB0_106:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str(%rip), %rdi
.Ltmp155:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.25(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	jmp	.LBB0_150
.Ltmp156:
.LBB0_107:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.22(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp157:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.25(%rip), %rcx
	leaq	.L.str.21(%rip), %r8
	jmp	.LBB0_150
.Ltmp158:
.LBB0_108:
	.cfi_def_cfa_offset 48
	leaq	.L.str.29(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp159:
	leaq	.L.str.17(%rip), %rdx
.Ltmp160:
	leaq	.L.str.28(%rip), %rcx
.Ltmp161:
	leaq	.L.str.9(%rip), %r8
.Ltmp162:
	jmp	.LBB0_120
.Ltmp163:
.LBB0_109:
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp164:
	leaq	.L.str.16(%rip), %rdx
.Ltmp165:
	leaq	.L.str.17(%rip), %rcx
.Ltmp166:
	leaq	.L.str.26(%rip), %r8
.Ltmp167:
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_118
.Ltmp168:
.LBB0_110:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.33(%rip), %rax
	leaq	.L.str.32(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp169:
	leaq	.L.str.16(%rip), %rdx
.Ltmp170:
	leaq	.L.str.30(%rip), %rcx
.Ltmp171:
	jmp	.LBB0_136
.Ltmp172:
.LBB0_111:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp173:
	leaq	.L.str.16(%rip), %rdx
.Ltmp174:
	leaq	.L.str.23(%rip), %rcx
.Ltmp175:
	leaq	.L.str.26(%rip), %r8
.Ltmp176:
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_118
.Ltmp177:
.LBB0_112:
	.cfi_def_cfa_offset 48
	leaq	.L.str.29(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp178:
	leaq	.L.str.23(%rip), %rdx
	leaq	.L.str.28(%rip), %rcx
.Ltmp179:
	leaq	.L.str.12(%rip), %r8
.Ltmp180:
	jmp	.LBB0_120
.Ltmp181:
.LBB0_113:
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp182:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
.Ltmp183:
	leaq	.L.str.26(%rip), %r8
.Ltmp184:
	leaq	.L.str.13(%rip), %r9
	jmp	.LBB0_118
.Ltmp185:
.LBB0_114:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.33(%rip), %rax
	leaq	.L.str.32(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp186:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.34(%rip), %rcx
.Ltmp187:
	jmp	.LBB0_143
.Ltmp188:
.LBB0_115:
	.cfi_def_cfa_offset 48
	leaq	.L.str.29(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp189:
	leaq	.L.str.24(%rip), %rdx
	leaq	.L.str.28(%rip), %rcx
	leaq	.L.str.13(%rip), %r8
.Ltmp190:
	jmp	.LBB0_120
.Ltmp191:
.LBB0_116:
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.33(%rip), %rax
	leaq	.L.str.32(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp192:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.35(%rip), %rcx
	jmp	.LBB0_149
.Ltmp193:
.LBB0_117:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp194:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.25(%rip), %rcx
	leaq	.L.str.26(%rip), %r8
.Ltmp195:
	leaq	.L.str.14(%rip), %r9
.Ltmp196:
.LBB0_118:
	movl	$7, %esi
	pushq	$0
	.cfi_adjust_cfa_offset 8
	jmp	.LBB0_132
.Ltmp197:
.LBB0_119:
	.cfi_def_cfa_offset 48
	leaq	.L.str.29(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp198:
	leaq	.L.str.25(%rip), %rdx
	leaq	.L.str.28(%rip), %rcx
	leaq	.L.str.14(%rip), %r8
.Ltmp199:
.LBB0_120:
	leaq	.L.str.4(%rip), %r9
.Ltmp200:
.LBB0_121:
	movl	$6, %esi
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
.Ltmp201:
.LBB0_122:
	callq	__tvm_set_raised_6
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	jmp	.LBB0_153
.Ltmp202:
.LBB0_123:
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp203:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.37(%rip), %rcx
	jmp	.LBB0_127
.Ltmp204:
.LBB0_124:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.39(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp205:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.38(%rip), %rcx
	jmp	.LBB0_127
.Ltmp206:
.LBB0_125:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.41(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp207:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.40(%rip), %rcx
	jmp	.LBB0_127
.Ltmp208:
.LBB0_126:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.41(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp209:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.42(%rip), %rcx
.Ltmp210:
.LBB0_127:
	leaq	.L.str.31(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_151
.Ltmp211:
.LBB0_128:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.9(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp212:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.43(%rip), %rcx
	jmp	.LBB0_131
.Ltmp213:
.LBB0_129:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.39(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp214:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.44(%rip), %rcx
	jmp	.LBB0_136
.Ltmp215:
.LBB0_130:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp216:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.45(%rip), %rcx
.Ltmp217:
.LBB0_131:
	leaq	.L.str.31(%rip), %r8
	movl	$8, %esi
	pushq	%r9
	.cfi_adjust_cfa_offset 8
.Ltmp218:
.LBB0_132:
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	jmp	.LBB0_152
.Ltmp219:
.LBB0_133:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.14(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp220:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.46(%rip), %rcx
	jmp	.LBB0_136
.Ltmp221:
.LBB0_134:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.14(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp222:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.47(%rip), %rcx
	jmp	.LBB0_136
.Ltmp223:
.LBB0_135:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp224:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.48(%rip), %rcx
.Ltmp225:
.LBB0_136:
	leaq	.L.str.31(%rip), %r8
.Ltmp226:
.LBB0_137:
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_151
.Ltmp227:
.LBB0_138:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp228:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.49(%rip), %rcx
	jmp	.LBB0_143
.Ltmp229:
.LBB0_139:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.39(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp230:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.50(%rip), %rcx
	jmp	.LBB0_143
.Ltmp231:
.LBB0_140:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp232:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.51(%rip), %rcx
	jmp	.LBB0_143
.Ltmp233:
.LBB0_141:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp234:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.52(%rip), %rcx
	jmp	.LBB0_143
.Ltmp235:
.LBB0_142:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp236:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.53(%rip), %rcx
.Ltmp237:
.LBB0_143:
	leaq	.L.str.31(%rip), %r8
	leaq	.L.str.13(%rip), %r9
	jmp	.LBB0_151
.Ltmp238:
.LBB0_144:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp239:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.54(%rip), %rcx
	jmp	.LBB0_149
.Ltmp240:
.LBB0_145:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.39(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp241:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.55(%rip), %rcx
	jmp	.LBB0_149
.Ltmp242:
.LBB0_146:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.57(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp243:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.56(%rip), %rcx
	jmp	.LBB0_149
.Ltmp244:
.LBB0_147:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.57(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp245:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.58(%rip), %rcx
	jmp	.LBB0_149
.Ltmp246:
.LBB0_148:
	.cfi_def_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.5(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp247:
	leaq	.L.str.36(%rip), %rdx
	leaq	.L.str.59(%rip), %rcx
.Ltmp248:
.LBB0_149:
	leaq	.L.str.31(%rip), %r8
.Ltmp249:
.LBB0_150:
	leaq	.L.str.14(%rip), %r9
.Ltmp250:
.LBB0_151:
	movl	$8, %esi
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	pushq	%r11
	.cfi_adjust_cfa_offset 8
.Ltmp251:
.LBB0_152:
	callq	__tvm_set_raised_12
	addq	$32, %rsp
	.cfi_adjust_cfa_offset -32
.Ltmp252:
.LBB0_153:
	movl	$-1, %eax
	addq	$8, %rsp
	.cfi_def_cfa_offset 40
	popq	%rbx
	.cfi_def_cfa_offset 32
	popq	%r12
	.cfi_def_cfa_offset 24
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	retq
.Ltmp253:
.Lfunc_end0:
	.size	__tvm_ffi_fused_conv_add_relu, .Lfunc_end0-__tvm_ffi_fused_conv_add_relu
	.cfi_endproc

	.globl	__tvm_ffi_reshape
	.p2align	4
	.type	__tvm_ffi_reshape,@function
__tvm_ffi_reshape:
.Lfunc_begin1:
	.loc	1 0 0
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
.Ltmp254:
	cmpl	$2, %edx
	jne	.LBB1_43
.Ltmp255:
	testq	%rsi, %rsi
	je	.LBB1_44
.Ltmp256:
	movl	(%rsi), %eax
.Ltmp257:
	cmpl	$63, %eax
	jle	.LBB1_7
.Ltmp258:
	cmpl	$70, %eax
	jne	.LBB1_9
.Ltmp259:
	movq	8(%rsi), %rax
.Ltmp260:
	addq	$24, %rax
	movl	16(%rsi), %ecx
.Ltmp261:
	cmpl	$63, %ecx
	jg	.LBB1_10
.Ltmp262:
.LBB1_5:
	cmpl	$7, %ecx
	ja	.LBB1_41
.Ltmp263:
	movl	$145, %edx
.Ltmp264:
	btl	%ecx, %edx
	jb	.LBB1_12
	jmp	.LBB1_41
.Ltmp265:
.LBB1_7:
	cmpl	$7, %eax
	ja	.LBB1_40
.Ltmp266:
	movl	$145, %ecx
.Ltmp267:
	btl	%eax, %ecx
	jae	.LBB1_40
.Ltmp268:
.LBB1_9:
	movq	8(%rsi), %rax
.Ltmp269:
	movl	16(%rsi), %ecx
.Ltmp270:
	cmpl	$63, %ecx
	jle	.LBB1_5
.Ltmp271:
.LBB1_10:
	cmpl	$70, %ecx
	jne	.LBB1_12
.Ltmp272:
	movq	24(%rsi), %rcx
	addq	$24, %rcx
	jmp	.LBB1_13
.Ltmp273:
.LBB1_12:
	movq	24(%rsi), %rcx
.Ltmp274:
.LBB1_13:
	testq	%rax, %rax
	je	.LBB1_40
.Ltmp275:
	cmpl	$1, 16(%rax)
	jne	.LBB1_45
.Ltmp276:
	cmpw	$1, 22(%rax)
	jne	.LBB1_46
.Ltmp277:
	cmpb	$32, 21(%rax)
	jne	.LBB1_46
.Ltmp278:
	cmpb	$2, 20(%rax)
	jne	.LBB1_46
.Ltmp279:
	cmpl	$1, 8(%rax)
	jne	.LBB1_47
.Ltmp280:
	testq	%rcx, %rcx
	je	.LBB1_41
.Ltmp281:
	cmpl	$4, 16(%rcx)
	jne	.LBB1_48
.Ltmp282:
	cmpw	$1, 22(%rcx)
	jne	.LBB1_49
.Ltmp283:
	cmpb	$32, 21(%rcx)
	jne	.LBB1_49
.Ltmp284:
	cmpb	$2, 20(%rcx)
	jne	.LBB1_49
.Ltmp285:
	cmpl	$1, 8(%rcx)
	jne	.LBB1_50
.Ltmp286:
	movq	24(%rax), %r8
.Ltmp287:
	movq	32(%rax), %rdi
.Ltmp288:
	movl	12(%rax), %esi
.Ltmp289:
	movq	24(%rcx), %rdx
.Ltmp290:
	movq	32(%rcx), %r9
.Ltmp291:
	testq	%rdi, %rdi
	je	.LBB1_27
.Ltmp292:
	cmpq	$1, (%rdi)
	jne	.LBB1_51
.Ltmp293:
.LBB1_27:
	movq	(%rax), %rdi
.Ltmp294:
	testq	%rdi, %rdi
	je	.LBB1_52
.Ltmp295:
	testq	%r9, %r9
	je	.LBB1_30
.Ltmp296:
	cmpq	$1, 8(%r9)
	jne	.LBB1_53
.Ltmp297:
.LBB1_30:
	cmpl	12(%rcx), %esi
	jne	.LBB1_55
.Ltmp298:
	movq	(%rcx), %rsi
.Ltmp299:
	testq	%rsi, %rsi
	je	.LBB1_56
.Ltmp300:
	cmpq	$96, (%r8)
	jne	.LBB1_60
.Ltmp301:
	cmpq	$0, 40(%rax)
	jne	.LBB1_62
.Ltmp302:
	cmpq	$1, (%rdx)
	jne	.LBB1_63
.Ltmp303:
	cmpq	$96, 8(%rdx)
	jne	.LBB1_64
.Ltmp304:
	cmpq	$1, 16(%rdx)
	jne	.LBB1_65
.Ltmp305:
	cmpq	$1, 24(%rdx)
	jne	.LBB1_66
.Ltmp306:
	cmpq	$0, 40(%rcx)
	jne	.LBB1_69
.Ltmp307:
	callq	reshape_compute_
.Ltmp308:
	xorl	%eax, %eax
	popq	%rcx
	.cfi_def_cfa_offset 8
	retq
.Ltmp309:
.LBB1_40:
	.cfi_def_cfa_offset 16
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp310:
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB1_42
.Ltmp311:
.LBB1_41:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp312:
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
.Ltmp313:
.LBB1_42:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.61(%rip), %r9
	jmp	.LBB1_58
.Ltmp314:
.LBB1_43:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str(%rip), %rdi
.Ltmp315:
	leaq	.L.str.1(%rip), %rdx
.Ltmp316:
	leaq	.L.str.13(%rip), %rcx
.Ltmp317:
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB1_57
.Ltmp318:
.LBB1_44:
	subq	$16, %rsp
	.cfi_adjust_cfa_offset 16
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
.Ltmp319:
	leaq	.L.str.7(%rip), %rdx
.Ltmp320:
	leaq	.L.str.4(%rip), %rcx
.Ltmp321:
	leaq	.L.str.61(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
.Ltmp322:
	jmp	.LBB1_59
.Ltmp323:
.LBB1_45:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp324:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.62(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB1_61
.Ltmp325:
.LBB1_46:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str(%rip), %rdi
.Ltmp326:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.62(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	jmp	.LBB1_61
.Ltmp327:
.LBB1_47:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.22(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp328:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.62(%rip), %rcx
	leaq	.L.str.21(%rip), %r8
	jmp	.LBB1_61
.Ltmp329:
.LBB1_48:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp330:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.63(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB1_71
.Ltmp331:
.LBB1_49:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str(%rip), %rdi
.Ltmp332:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.63(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	jmp	.LBB1_71
.Ltmp333:
.LBB1_50:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.22(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
.Ltmp334:
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.63(%rip), %rcx
	leaq	.L.str.21(%rip), %r8
	jmp	.LBB1_71
.Ltmp335:
.LBB1_51:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
.Ltmp336:
	leaq	.L.str.16(%rip), %rdx
.Ltmp337:
	leaq	.L.str.62(%rip), %rcx
	leaq	.L.str.26(%rip), %r8
.Ltmp338:
	leaq	.L.str.9(%rip), %r9
.Ltmp339:
	jmp	.LBB1_54
.Ltmp340:
.LBB1_52:
	.cfi_def_cfa_offset 16
	leaq	.L.str.29(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.62(%rip), %rdx
.Ltmp341:
	leaq	.L.str.28(%rip), %rcx
	leaq	.L.str.9(%rip), %r8
.Ltmp342:
	jmp	.LBB1_57
.Ltmp343:
.LBB1_53:
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.16(%rip), %rdx
.Ltmp344:
	leaq	.L.str.63(%rip), %rcx
	leaq	.L.str.26(%rip), %r8
.Ltmp345:
	leaq	.L.str.12(%rip), %r9
.Ltmp346:
.LBB1_54:
	movl	$7, %esi
.Ltmp347:
	pushq	$0
	.cfi_adjust_cfa_offset 8
	jmp	.LBB1_68
.Ltmp348:
.LBB1_55:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.65(%rip), %rax
	leaq	.L.str.32(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.16(%rip), %rdx
.Ltmp349:
	leaq	.L.str.64(%rip), %rcx
	jmp	.LBB1_70
.Ltmp350:
.LBB1_56:
	.cfi_def_cfa_offset 16
	leaq	.L.str.29(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.63(%rip), %rdx
.Ltmp351:
	leaq	.L.str.28(%rip), %rcx
	leaq	.L.str.12(%rip), %r8
.Ltmp352:
.LBB1_57:
	leaq	.L.str.4(%rip), %r9
.Ltmp353:
.LBB1_58:
	movl	$6, %esi
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
.Ltmp354:
.LBB1_59:
	callq	__tvm_set_raised_6
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	movl	$-1, %eax
	popq	%rcx
	.cfi_def_cfa_offset 8
	retq
.Ltmp355:
.LBB1_60:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.39(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.36(%rip), %rdx
.Ltmp356:
	leaq	.L.str.66(%rip), %rcx
	leaq	.L.str.31(%rip), %r8
.Ltmp357:
.LBB1_61:
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB1_72
.Ltmp358:
.LBB1_62:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.9(%rip), %r9
.Ltmp359:
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.36(%rip), %rdx
.Ltmp360:
	leaq	.L.str.67(%rip), %rcx
	jmp	.LBB1_67
.Ltmp361:
.LBB1_63:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %r9
.Ltmp362:
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.36(%rip), %rdx
.Ltmp363:
	leaq	.L.str.68(%rip), %rcx
	jmp	.LBB1_67
.Ltmp364:
.LBB1_64:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.39(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.36(%rip), %rdx
.Ltmp365:
	leaq	.L.str.69(%rip), %rcx
	jmp	.LBB1_70
.Ltmp366:
.LBB1_65:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %r9
.Ltmp367:
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.36(%rip), %rdx
.Ltmp368:
	leaq	.L.str.70(%rip), %rcx
	jmp	.LBB1_67
.Ltmp369:
.LBB1_66:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.12(%rip), %r9
.Ltmp370:
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.61(%rip), %r10
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.36(%rip), %rdx
.Ltmp371:
	leaq	.L.str.71(%rip), %rcx
.Ltmp372:
.LBB1_67:
	leaq	.L.str.31(%rip), %r8
.Ltmp373:
	movl	$8, %esi
	pushq	%r9
	.cfi_adjust_cfa_offset 8
.Ltmp374:
.LBB1_68:
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	jmp	.LBB1_73
.Ltmp375:
.LBB1_69:
	.cfi_def_cfa_offset 16
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.61(%rip), %r11
	leaq	.L.str.15(%rip), %rdi
	leaq	.L.str.36(%rip), %rdx
.Ltmp376:
	leaq	.L.str.72(%rip), %rcx
.Ltmp377:
.LBB1_70:
	leaq	.L.str.31(%rip), %r8
.Ltmp378:
.LBB1_71:
	leaq	.L.str.12(%rip), %r9
.Ltmp379:
.LBB1_72:
	movl	$8, %esi
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	pushq	%r11
	.cfi_adjust_cfa_offset 8
.Ltmp380:
.LBB1_73:
	callq	__tvm_set_raised_12
	addq	$32, %rsp
	.cfi_adjust_cfa_offset -32
	movl	$-1, %eax
	popq	%rcx
	.cfi_def_cfa_offset 8
	retq
.Ltmp381:
.Lfunc_end1:
	.size	__tvm_ffi_reshape, .Lfunc_end1-__tvm_ffi_reshape
	.cfi_endproc

	.p2align	4
	.type	__tvm_set_raised_6,@function
__tvm_set_raised_6:
.Lfunc_begin2:
	.cfi_startproc
	subq	$56, %rsp
	.cfi_def_cfa_offset 64
	movl	%esi, %eax
	vmovaps	64(%rsp), %xmm0
	movq	%rdx, 8(%rsp)
	movq	%rcx, 16(%rsp)
	movq	%r8, 24(%rsp)
	movq	%r9, 32(%rsp)
	vmovups	%xmm0, 40(%rsp)
	leaq	8(%rsp), %rsi
	movl	%eax, %edx
	callq	TVMFFIErrorSetRaisedFromCStrParts@PLT
	addq	$56, %rsp
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end2:
	.size	__tvm_set_raised_6, .Lfunc_end2-__tvm_set_raised_6
	.cfi_endproc

	.p2align	4
	.type	__tvm_set_raised_12,@function
__tvm_set_raised_12:
.Lfunc_begin3:
	.cfi_startproc
	subq	$104, %rsp
	.cfi_def_cfa_offset 112
	movl	%esi, %eax
	movq	128(%rsp), %rsi
	vmovaps	112(%rsp), %xmm0
	movq	%rdx, 8(%rsp)
	movq	%rcx, 16(%rsp)
	movq	%r8, 24(%rsp)
	movq	%r9, 32(%rsp)
	leaq	.L.str.4(%rip), %rcx
	movq	%rcx, 40(%rsp)
	vmovups	%xmm0, 48(%rsp)
	movq	%rsi, 64(%rsp)
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 72(%rsp)
	leaq	8(%rsp), %rsi
	movl	%eax, %edx
	vzeroupper
	callq	TVMFFIErrorSetRaisedFromCStrParts@PLT
	addq	$104, %rsp
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end3:
	.size	__tvm_set_raised_12, .Lfunc_end3-__tvm_set_raised_12
	.cfi_endproc

	.p2align	4
	.type	fused_conv_add_relu_compute_,@function
fused_conv_add_relu_compute_:
.Lfunc_begin4:
	.loc	1 0 0
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%r15
	.cfi_def_cfa_offset 24
	pushq	%r14
	.cfi_def_cfa_offset 32
	pushq	%r13
	.cfi_def_cfa_offset 40
	pushq	%r12
	.cfi_def_cfa_offset 48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	subq	$56, %rsp
	.cfi_def_cfa_offset 112
	.cfi_offset %rbx, -56
	.cfi_offset %r12, -48
	.cfi_offset %r13, -40
	.cfi_offset %r14, -32
	.cfi_offset %r15, -24
	.cfi_offset %rbp, -16
	movq	%r8, %r15
.Ltmp382:
	movq	%rcx, %r14
.Ltmp383:
	movq	%rdx, %r12
.Ltmp384:
	movq	%rsi, %rbp
.Ltmp385:
	movl	%edi, %ebx
.Ltmp386:
	movq	__TVMBackendAllocWorkspace@GOTPCREL(%rip), %rax
	movl	$4990464, %edx
.Ltmp387:
	movl	$1, %edi
.Ltmp388:
	movl	%ebx, %esi
.Ltmp389:
	movl	$2, %ecx
.Ltmp390:
	movl	$32, %r8d
.Ltmp391:
	callq	*(%rax)
	movq	%rax, %rcx
.Ltmp392:
	movl	$-1, %eax
	testq	%rcx, %rcx
	jne	.LBB4_1
.Ltmp393:
.LBB4_4:
	addq	$56, %rsp
	.cfi_def_cfa_offset 56
	popq	%rbx
.Ltmp394:
	.cfi_def_cfa_offset 48
	popq	%r12
.Ltmp395:
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r14
	.cfi_def_cfa_offset 24
	popq	%r15
.Ltmp396:
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	retq
.Ltmp397:
.LBB4_1:
	.cfi_def_cfa_offset 112
	movq	%rcx, %r13
	movq	%rcx, 8(%rsp)
	movq	%rbp, 16(%rsp)
	movq	__TVMBackendParallelLaunch@GOTPCREL(%rip), %rbp
.Ltmp398:
	leaq	.L__tvm_parallel_lambda(%rip), %rdi
	leaq	8(%rsp), %rsi
	xorl	%edx, %edx
	callq	*(%rbp)
.Ltmp399:
	testl	%eax, %eax
	jne	.LBB4_4
.Ltmp400:
	movq	%r13, 24(%rsp)
	movq	%r12, 32(%rsp)
	movq	%r15, 40(%rsp)
	movq	%r14, 48(%rsp)
	leaq	.L__tvm_parallel_lambda.60(%rip), %rdi
	leaq	24(%rsp), %rsi
	xorl	%r14d, %r14d
.Ltmp401:
	xorl	%edx, %edx
	callq	*(%rbp)
	testl	%eax, %eax
	jne	.LBB4_4
.Ltmp402:
	movq	__TVMBackendFreeWorkspace@GOTPCREL(%rip), %rax
	movl	$1, %edi
	movl	%ebx, %esi
	movq	%r13, %rdx
	callq	*(%rax)
	negl	%eax
	sbbl	%r14d, %r14d
	movl	%r14d, %eax
	jmp	.LBB4_4
.Ltmp403:
.Lfunc_end4:
	.size	fused_conv_add_relu_compute_, .Lfunc_end4-fused_conv_add_relu_compute_
	.cfi_endproc

	.p2align	4
	.type	.L__tvm_parallel_lambda,@function
.L__tvm_parallel_lambda:
.Lfunc_begin5:
	.cfi_startproc
	movq	%rdx, %rcx
	movl	8(%rsi), %esi
	leal	10943(%rsi), %eax
	cltd
	idivl	%esi
	leal	1(%rdi), %esi
	imull	%eax, %esi
	cmpl	$10944, %esi
	movl	$10944, %edx
	cmovll	%esi, %edx
	imull	%edi, %eax
	subl	%eax, %edx
	jle	.LBB5_41
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%r15
	.cfi_def_cfa_offset 24
	pushq	%r14
	.cfi_def_cfa_offset 32
	pushq	%r13
	.cfi_def_cfa_offset 40
	pushq	%r12
	.cfi_def_cfa_offset 48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset %rbx, -56
	.cfi_offset %r12, -48
	.cfi_offset %r13, -40
	.cfi_offset %r14, -32
	.cfi_offset %r15, -24
	.cfi_offset %rbp, -16
	movq	(%rcx), %rsi
	movq	8(%rcx), %rcx
	movslq	%eax, %rdi
	imulq	$456, %rdi, %r8
	leaq	(%r8,%rsi), %r9
	addq	$452, %r9
	addq	%rsi, %r8
	leaq	-452(%rcx), %r10
	xorl	%ebx, %ebx
	movb	$-2, %bpl
	vxorps	%xmm0, %xmm0, %xmm0
	jmp	.LBB5_2
	.p2align	4
.LBB5_3:
	leal	(%rax,%rbx), %r11d
	imull	$114, %r11d, %r11d
	movslq	%r11d, %r11
	vmovups	%ymm0, 416(%rsi,%r11,4)
	vmovups	%ymm0, 384(%rsi,%r11,4)
	vmovups	%ymm0, 352(%rsi,%r11,4)
	vmovups	%ymm0, 320(%rsi,%r11,4)
	vmovups	%ymm0, 288(%rsi,%r11,4)
	vmovups	%ymm0, 256(%rsi,%r11,4)
	vmovups	%ymm0, 224(%rsi,%r11,4)
	vmovups	%ymm0, 192(%rsi,%r11,4)
	vmovups	%ymm0, 160(%rsi,%r11,4)
	vmovups	%ymm0, 128(%rsi,%r11,4)
	vmovups	%ymm0, 96(%rsi,%r11,4)
	vmovups	%ymm0, 64(%rsi,%r11,4)
	vmovups	%ymm0, 32(%rsi,%r11,4)
	vmovups	%ymm0, (%rsi,%r11,4)
	movq	$0, 448(%rsi,%r11,4)
.LBB5_39:
	incq	%rdi
	incq	%rbx
	addq	$456, %r8
	cmpl	%edx, %ebx
	je	.LBB5_40
.LBB5_2:
	imulq	$-1883757585, %rdi, %r11
	shrq	$32, %r11
	addl	%edi, %r11d
	movl	%r11d, %r14d
	shrl	$31, %r14d
	sarl	$6, %r11d
	addl	%r14d, %r11d
	imull	$114, %r11d, %r14d
	movl	%r14d, %r15d
	negl	%r15d
	addl	%edi, %r15d
	decl	%r15d
	cmpl	$112, %r15d
	jae	.LBB5_3
	movl	%edi, %r15d
	subl	%r14d, %r15d
	imulq	$456, %rbx, %r12
	addq	%r9, %r12
	imull	$12544, %r11d, %r11d
	imull	$112, %r15d, %r14d
	addl	%r11d, %r14d
	movslq	%r14d, %r14
	leaq	(%rcx,%r14,4), %r15
	subq	%r15, %r12
	cmpq	$128, %r12
	jb	.LBB5_5
	imulq	$456, %rdi, %r11
	kmovd	%ebp, %k1
	vmovups	-452(%r15), %ymm1 {%k1} {z}
	vmovups	-420(%r15), %ymm2
	vmovups	-388(%r15), %ymm3
	vmovups	-356(%r15), %ymm4
	vmovups	%ymm1, (%rsi,%r11)
	vmovups	%ymm2, 32(%rsi,%r11)
	vmovups	%ymm3, 64(%rsi,%r11)
	vmovups	%ymm4, 96(%rsi,%r11)
	vmovups	-324(%r15), %ymm1
	vmovups	-292(%r15), %ymm2
	vmovups	-260(%r15), %ymm3
	vmovups	-228(%r15), %ymm4
	vmovups	%ymm1, 128(%rsi,%r11)
	vmovups	%ymm2, 160(%rsi,%r11)
	vmovups	%ymm3, 192(%rsi,%r11)
	vmovups	%ymm4, 224(%rsi,%r11)
	vmovups	-196(%r15), %ymm1
	vmovups	-164(%r15), %ymm2
	vmovups	-132(%r15), %ymm3
	vmovups	-100(%r15), %ymm4
	vmovups	%ymm1, 256(%rsi,%r11)
	vmovups	%ymm2, 288(%rsi,%r11)
	vmovups	%ymm3, 320(%rsi,%r11)
	vmovups	%ymm4, 352(%rsi,%r11)
	vmovups	-68(%r15), %ymm1
	vmovups	%ymm1, 384(%rsi,%r11)
	vmovups	-36(%r15), %ymm1
	vmovups	%ymm1, 416(%rsi,%r11)
	movl	$112, %r15d
.LBB5_7:
	shlq	$2, %r14
	leaq	(%r10,%r14), %r13
	movl	$2, %r11d
	jmp	.LBB5_8
	.p2align	4
.LBB5_11:
	vmovss	%xmm1, (%r8,%r15,4)
	incq	%r15
	decq	%r11
	je	.LBB5_12
.LBB5_8:
	vxorps	%xmm1, %xmm1, %xmm1
	testl	%r15d, %r15d
	je	.LBB5_11
	cmpl	$113, %r15d
	je	.LBB5_11
	vmovss	(%r13,%r15,4), %xmm1
	jmp	.LBB5_11
	.p2align	4
.LBB5_12:
	cmpq	$127, %r12
	ja	.LBB5_39
	leaq	-424(%rcx), %r11
	addq	%r11, %r14
.LBB5_14:
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	testl	%r15d, %r15d
	je	.LBB5_17
	cmpl	$113, %r15d
	je	.LBB5_17
	vmovss	-28(%r14,%r15,4), %xmm2
.LBB5_17:
	vmovss	%xmm2, (%r8,%r15,4)
	leaq	1(%r15), %r12
	testl	%r12d, %r12d
	je	.LBB5_20
	cmpl	$113, %r12d
	je	.LBB5_20
	vmovss	-24(%r14,%r15,4), %xmm1
.LBB5_20:
	vmovss	%xmm1, 4(%r8,%r15,4)
	incq	%r12
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	testl	%r12d, %r12d
	je	.LBB5_23
	cmpl	$113, %r12d
	je	.LBB5_23
	vmovss	-20(%r14,%r15,4), %xmm2
.LBB5_23:
	vmovss	%xmm2, 8(%r8,%r15,4)
	incq	%r12
	testl	%r12d, %r12d
	je	.LBB5_26
	cmpl	$113, %r12d
	je	.LBB5_26
	vmovss	-16(%r14,%r15,4), %xmm1
.LBB5_26:
	vmovss	%xmm1, 12(%r8,%r15,4)
	incq	%r12
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	testl	%r12d, %r12d
	je	.LBB5_29
	cmpl	$113, %r12d
	je	.LBB5_29
	vmovss	-12(%r14,%r15,4), %xmm2
.LBB5_29:
	vmovss	%xmm2, 16(%r8,%r15,4)
	incq	%r12
	testl	%r12d, %r12d
	je	.LBB5_32
	cmpl	$113, %r12d
	je	.LBB5_32
	vmovss	-8(%r14,%r15,4), %xmm1
.LBB5_32:
	vmovss	%xmm1, 20(%r8,%r15,4)
	incq	%r12
	vxorps	%xmm1, %xmm1, %xmm1
	vxorps	%xmm2, %xmm2, %xmm2
	testl	%r12d, %r12d
	je	.LBB5_35
	cmpl	$113, %r12d
	je	.LBB5_35
	vmovss	-4(%r14,%r15,4), %xmm2
.LBB5_35:
	vmovss	%xmm2, 24(%r8,%r15,4)
	incq	%r12
	testl	%r12d, %r12d
	je	.LBB5_38
	cmpl	$113, %r12d
	je	.LBB5_38
	vmovss	(%r14,%r15,4), %xmm1
.LBB5_38:
	vmovss	%xmm1, 28(%r8,%r15,4)
	incq	%r12
	movq	%r12, %r15
	cmpq	$114, %r12
	je	.LBB5_39
	jmp	.LBB5_14
.LBB5_5:
	xorl	%r15d, %r15d
	jmp	.LBB5_7
.LBB5_40:
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%r12
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r14
	.cfi_def_cfa_offset 24
	popq	%r15
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore %rbx
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_restore %rbp
.LBB5_41:
	xorl	%eax, %eax
	vzeroupper
	retq
.Lfunc_end5:
	.size	.L__tvm_parallel_lambda, .Lfunc_end5-.L__tvm_parallel_lambda
	.cfi_endproc

	.p2align	4
	.type	.L__tvm_parallel_lambda.60,@function
.L__tvm_parallel_lambda.60:
.Lfunc_begin6:
	.cfi_startproc
	movq	%rdx, %rcx
	movl	8(%rsi), %esi
	leal	671(%rsi), %eax
	cltd
	idivl	%esi
	leal	1(%rdi), %esi
	imull	%eax, %esi
	cmpl	$672, %esi
	movl	$672, %edx
	cmovll	%esi, %edx
	imull	%edi, %eax
	cmpl	%edx, %eax
	jge	.LBB6_10
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%r15
	.cfi_def_cfa_offset 24
	pushq	%r14
	.cfi_def_cfa_offset 32
	pushq	%r13
	.cfi_def_cfa_offset 40
	pushq	%r12
	.cfi_def_cfa_offset 48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset %rbx, -56
	.cfi_offset %r12, -48
	.cfi_offset %r13, -40
	.cfi_offset %r14, -32
	.cfi_offset %r15, -24
	.cfi_offset %rbp, -16
	movq	(%rcx), %rsi
	movq	8(%rcx), %rdi
	movq	16(%rcx), %r8
	movq	24(%rcx), %rcx
	addq	$11912, %rsi
	vxorps	%xmm0, %xmm0, %xmm0
.LBB6_2:
	movslq	%eax, %r9
	imulq	$-1840700269, %r9, %r10
	shrq	$32, %r10
	addl	%eax, %r10d
	movl	%r10d, %r9d
	shrl	$31, %r9d
	sarl	$2, %r10d
	addl	%r9d, %r10d
	leal	(,%r10,8), %r11d
	leal	(%r10,%r10,8), %ebx
	imull	$12996, %r10d, %r9d
	movslq	%r10d, %r14
	movl	%r10d, %r15d
	subl	%r11d, %r15d
	addl	%eax, %r15d
	imull	$3136, %r14d, %r10d
	leal	(%r10,%r15,8), %r10d
	movl	%r15d, %r11d
	shll	$4, %r11d
	addl	%r11d, %r9d
	vbroadcastss	(%rcx,%r14,4), %ymm1
	movslq	%ebx, %r11
	leaq	(%rdi,%r11,4), %r11
	xorl	%ebx, %ebx
	.p2align	4
.LBB6_3:
	vxorps	%xmm14, %xmm14, %xmm14
	movl	%r9d, %ebp
	movq	%r11, %r14
	xorl	%r15d, %r15d
	vxorps	%xmm15, %xmm15, %xmm15
	vxorps	%xmm13, %xmm13, %xmm13
	vxorps	%xmm12, %xmm12, %xmm12
	vxorps	%xmm11, %xmm11, %xmm11
	vxorps	%xmm10, %xmm10, %xmm10
	vxorps	%xmm9, %xmm9, %xmm9
	vxorps	%xmm8, %xmm8, %xmm8
	vxorps	%xmm7, %xmm7, %xmm7
	vxorps	%xmm6, %xmm6, %xmm6
	vxorps	%xmm5, %xmm5, %xmm5
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm2, %xmm2, %xmm2
	.p2align	4
.LBB6_4:
	movslq	%ebp, %r12
	leaq	(%rsi,%r12,4), %r12
	xorl	%r13d, %r13d
	.p2align	4
.LBB6_5:
	vmovss	-11912(%r12,%r13,4), %xmm16
	vmovss	-11880(%r12,%r13,4), %xmm17
	vinsertps	$16, -11872(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -11864(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -11856(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$16, -11904(%r12,%r13,4), %xmm16, %xmm16
	vinsertps	$32, -11896(%r12,%r13,4), %xmm16, %xmm16
	vinsertps	$48, -11888(%r12,%r13,4), %xmm16, %xmm16
	vinsertf32x4	$1, %xmm17, %ymm16, %ymm17
	vbroadcastss	(%r14,%r13,4), %ymm16
	vfmadd231ps	%ymm17, %ymm16, %ymm14
	vmovss	-10968(%r12,%r13,4), %xmm17
	vinsertps	$16, -10960(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -10952(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -10944(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-11000(%r12,%r13,4), %xmm18
	vinsertps	$16, -10992(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -10984(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -10976(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm15
	vmovss	-10056(%r12,%r13,4), %xmm17
	vinsertps	$16, -10048(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -10040(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -10032(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-10088(%r12,%r13,4), %xmm18
	vinsertps	$16, -10080(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -10072(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -10064(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm13
	vmovss	-9144(%r12,%r13,4), %xmm17
	vinsertps	$16, -9136(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -9128(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -9120(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-9176(%r12,%r13,4), %xmm18
	vinsertps	$16, -9168(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -9160(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -9152(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm12
	vmovss	-8232(%r12,%r13,4), %xmm17
	vinsertps	$16, -8224(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -8216(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -8208(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-8264(%r12,%r13,4), %xmm18
	vinsertps	$16, -8256(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -8248(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -8240(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm11
	vmovss	-7320(%r12,%r13,4), %xmm17
	vinsertps	$16, -7312(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -7304(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -7296(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-7352(%r12,%r13,4), %xmm18
	vinsertps	$16, -7344(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -7336(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -7328(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm10
	vmovss	-6408(%r12,%r13,4), %xmm17
	vinsertps	$16, -6400(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -6392(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -6384(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-6440(%r12,%r13,4), %xmm18
	vinsertps	$16, -6432(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -6424(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -6416(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm9
	vmovss	-5496(%r12,%r13,4), %xmm17
	vinsertps	$16, -5488(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -5480(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -5472(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-5528(%r12,%r13,4), %xmm18
	vinsertps	$16, -5520(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -5512(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -5504(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm8
	vmovss	-4584(%r12,%r13,4), %xmm17
	vinsertps	$16, -4576(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -4568(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -4560(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-4616(%r12,%r13,4), %xmm18
	vinsertps	$16, -4608(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -4600(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -4592(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm7
	vmovss	-3672(%r12,%r13,4), %xmm17
	vinsertps	$16, -3664(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -3656(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -3648(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-3704(%r12,%r13,4), %xmm18
	vinsertps	$16, -3696(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -3688(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -3680(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm6
	vmovss	-2760(%r12,%r13,4), %xmm17
	vinsertps	$16, -2752(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -2744(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -2736(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-2792(%r12,%r13,4), %xmm18
	vinsertps	$16, -2784(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -2776(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -2768(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm5
	vmovss	-1848(%r12,%r13,4), %xmm17
	vinsertps	$16, -1840(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -1832(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -1824(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-1880(%r12,%r13,4), %xmm18
	vinsertps	$16, -1872(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -1864(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -1856(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm4
	vmovss	-936(%r12,%r13,4), %xmm17
	vinsertps	$16, -928(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -920(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, -912(%r12,%r13,4), %xmm17, %xmm17
	vmovss	-968(%r12,%r13,4), %xmm18
	vinsertps	$16, -960(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -952(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -944(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm3
	vmovss	-24(%r12,%r13,4), %xmm17
	vinsertps	$16, -16(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$32, -8(%r12,%r13,4), %xmm17, %xmm17
	vinsertps	$48, (%r12,%r13,4), %xmm17, %xmm17
	vmovss	-56(%r12,%r13,4), %xmm18
	vinsertps	$16, -48(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$32, -40(%r12,%r13,4), %xmm18, %xmm18
	vinsertps	$48, -32(%r12,%r13,4), %xmm18, %xmm18
	vinsertf32x4	$1, %xmm17, %ymm18, %ymm17
	vfmadd231ps	%ymm17, %ymm16, %ymm2
	incq	%r13
	cmpq	$3, %r13
	jne	.LBB6_5
	incq	%r15
	addq	$12, %r14
	addl	$114, %ebp
	cmpq	$3, %r15
	jne	.LBB6_4
	imull	$784, %ebx, %r14d
	leal	(%r10,%r14), %ebp
	vaddps	%ymm1, %ymm14, %ymm14
	vmaxps	%ymm14, %ymm0, %ymm14
	movslq	%ebp, %r15
	vmovaps	%ymm14, (%r8,%r15,4)
	vaddps	%ymm1, %ymm15, %ymm14
	vmaxps	%ymm14, %ymm0, %ymm14
	leal	56(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm14, (%r8,%r15,4)
	vaddps	%ymm1, %ymm13, %ymm13
	vmaxps	%ymm13, %ymm0, %ymm13
	leal	112(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm13, (%r8,%r15,4)
	vaddps	%ymm1, %ymm12, %ymm12
	vmaxps	%ymm12, %ymm0, %ymm12
	leal	168(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm12, (%r8,%r15,4)
	vaddps	%ymm1, %ymm11, %ymm11
	vmaxps	%ymm11, %ymm0, %ymm11
	leal	224(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm11, (%r8,%r15,4)
	vaddps	%ymm1, %ymm10, %ymm10
	vmaxps	%ymm10, %ymm0, %ymm10
	leal	280(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm10, (%r8,%r15,4)
	vaddps	%ymm1, %ymm9, %ymm9
	vmaxps	%ymm9, %ymm0, %ymm9
	leal	336(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm9, (%r8,%r15,4)
	vaddps	%ymm1, %ymm8, %ymm8
	vmaxps	%ymm8, %ymm0, %ymm8
	leal	392(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm8, (%r8,%r15,4)
	vaddps	%ymm1, %ymm7, %ymm7
	vmaxps	%ymm7, %ymm0, %ymm7
	leal	448(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm7, (%r8,%r15,4)
	vaddps	%ymm1, %ymm6, %ymm6
	vmaxps	%ymm6, %ymm0, %ymm6
	leal	504(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm6, (%r8,%r15,4)
	vaddps	%ymm1, %ymm5, %ymm5
	vmaxps	%ymm5, %ymm0, %ymm5
	leal	560(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm5, (%r8,%r15,4)
	vaddps	%ymm1, %ymm4, %ymm4
	vmaxps	%ymm4, %ymm0, %ymm4
	leal	616(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm4, (%r8,%r15,4)
	vaddps	%ymm1, %ymm3, %ymm3
	vmaxps	%ymm3, %ymm0, %ymm3
	leal	672(%r10,%r14), %ebp
	movslq	%ebp, %r15
	vmovaps	%ymm3, (%r8,%r15,4)
	vaddps	%ymm1, %ymm2, %ymm2
	vmaxps	%ymm2, %ymm0, %ymm2
	leal	(%r10,%r14), %ebp
	addl	$728, %ebp
	movslq	%ebp, %r14
	vmovaps	%ymm2, (%r8,%r14,4)
	incq	%rbx
	addl	$3192, %r9d
	cmpq	$4, %rbx
	jne	.LBB6_3
	.p2align	4
	incl	%eax
	cmpl	%edx, %eax
	jne	.LBB6_2
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%r12
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r14
	.cfi_def_cfa_offset 24
	popq	%r15
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore %rbx
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_restore %rbp
.LBB6_10:
	xorl	%eax, %eax
	vzeroupper
	retq
.Lfunc_end6:
	.size	.L__tvm_parallel_lambda.60, .Lfunc_end6-.L__tvm_parallel_lambda.60
	.cfi_endproc

	.p2align	4
	.type	reshape_compute_,@function
reshape_compute_:
.Lfunc_begin7:
	.loc	1 0 0
	.cfi_startproc
	movq	%rdi, %rax
.Ltmp404:
	movl	$384, %edx
	movq	%rsi, %rdi
.Ltmp405:
	movq	%rax, %rsi
.Ltmp406:
	jmp	memcpy@PLT
.Ltmp407:
.Lfunc_end7:
	.size	reshape_compute_, .Lfunc_end7-reshape_compute_
	.cfi_endproc

	.section	.text.tvm.fp16.conv,"ax",@progbits
	.weak	__truncsfhf2
	.p2align	4
	.type	__truncsfhf2,@function
__truncsfhf2:
.Lfunc_begin8:
	.cfi_startproc
	vmovd	%xmm0, %eax
	movl	%eax, %edx
	andl	$2147483647, %edx
	leal	-947912704(%rdx), %ecx
	leal	-1199570944(%rdx), %esi
	cmpl	%esi, %ecx
	jae	.LBB8_5
	movl	%eax, %edx
	shrl	$13, %edx
	movl	%eax, %esi
	andl	$8191, %esi
	cmpl	$4097, %esi
	jb	.LBB8_3
	addl	$-114687, %edx
	movl	%edx, %ecx
	jmp	.LBB8_13
.LBB8_5:
	cmpl	$2139095041, %edx
	jb	.LBB8_7
	movl	%eax, %ecx
	shrl	$13, %ecx
	andl	$511, %ecx
	orl	$32256, %ecx
	jmp	.LBB8_13
.LBB8_3:
	leal	-114688(%rdx), %ecx
	cmpl	$4096, %esi
	jne	.LBB8_13
	andl	$1, %edx
	addl	%edx, %ecx
	jmp	.LBB8_13
.LBB8_7:
	movl	$31744, %ecx
	cmpl	$1199570943, %edx
	ja	.LBB8_13
	xorl	%ecx, %ecx
	cmpl	$754974720, %edx
	jb	.LBB8_13
	shrl	$23, %edx
	movl	%eax, %ecx
	andl	$8388607, %ecx
	orl	$8388608, %ecx
	leal	-81(%rdx), %esi
	shlxl	%esi, %ecx, %esi
	xorl	%edi, %edi
	testl	%esi, %esi
	setne	%dil
	movb	$113, %sil
	subb	%dl, %sil
	shrxl	%esi, %ecx, %edx
	movl	%edx, %ecx
	shrl	$13, %ecx
	andl	$8191, %edx
	orl	%edi, %edx
	cmpl	$4097, %edx
	jb	.LBB8_11
	incl	%ecx
	jmp	.LBB8_13
.LBB8_11:
	cmpl	$4096, %edx
	jne	.LBB8_13
	movl	%ecx, %edx
	andl	$1, %edx
	addl	%edx, %ecx
.LBB8_13:
	shrl	$16, %eax
	andl	$32768, %eax
	orl	%ecx, %eax
	vpinsrw	$0, %eax, %xmm0, %xmm0
	retq
.Lfunc_end8:
	.size	__truncsfhf2, .Lfunc_end8-__truncsfhf2
	.cfi_endproc

	.weak	__extendhfsf2
	.p2align	4
	.type	__extendhfsf2,@function
__extendhfsf2:
.Lfunc_begin9:
	.cfi_startproc
	vpextrw	$0, %xmm0, %eax
	movl	%eax, %ecx
	andl	$32767, %ecx
	leal	-1024(%rcx), %edx
	movzwl	%dx, %edx
	cmpl	$30719, %edx
	ja	.LBB9_2
	shll	$13, %ecx
	addl	$939524096, %ecx
	jmp	.LBB9_7
.LBB9_2:
	cmpl	$31744, %ecx
	jb	.LBB9_4
	shll	$13, %ecx
	orl	$2139095040, %ecx
	jmp	.LBB9_7
.LBB9_4:
	testl	%ecx, %ecx
	je	.LBB9_5
	movl	%ecx, %edx
	shrl	$8, %edx
	xorl	%esi, %esi
	cmpl	$256, %ecx
	setb	%sil
	cmovbl	%ecx, %edx
	leal	24(,%rsi,8), %edi
	movl	%edx, %r8d
	shrl	$4, %r8d
	cmpl	$16, %edx
	leal	20(,%rsi,8), %esi
	cmovbl	%edx, %r8d
	cmovbl	%edi, %esi
	movl	%r8d, %edx
	shrl	$2, %edx
	leal	-2(%rsi), %edi
	cmpl	$4, %r8d
	cmovbl	%r8d, %edx
	cmovbl	%esi, %edi
	movl	%edx, %esi
	negl	%esi
	cmpl	$2, %edx
	movl	$-2, %edx
	cmovbl	%esi, %edx
	addl	%edi, %edx
	leal	-8(%rdx), %esi
	shlxl	%esi, %ecx, %esi
	xorl	$8388608, %esi
	shll	$23, %edx
	movl	$1124073472, %ecx
	subl	%edx, %ecx
	orl	%esi, %ecx
	jmp	.LBB9_7
.LBB9_5:
	xorl	%ecx, %ecx
.LBB9_7:
	andl	$32768, %eax
	shll	$16, %eax
	orl	%ecx, %eax
	vmovd	%eax, %xmm0
	retq
.Lfunc_end9:
	.size	__extendhfsf2, .Lfunc_end9-__extendhfsf2
	.cfi_endproc

	.type	__TVMBackendParallelLaunch,@object
	.bss
	.weak	__TVMBackendParallelLaunch
	.p2align	3, 0x0
__TVMBackendParallelLaunch:
	.quad	0
	.size	__TVMBackendParallelLaunch, 8

	.type	.L.str,@object
	.section	.rodata,"a",@progbits
.L.str:
	.asciz	"TypeError"
	.size	.L.str, 10

	.type	.L.str.1,@object
.L.str.1:
	.asciz	"Expected "
	.size	.L.str.1, 10

	.type	.L.str.2,@object
.L.str.2:
	.asciz	"4"
	.size	.L.str.2, 2

	.type	.L.str.3,@object
.L.str.3:
	.asciz	" arguments"
	.size	.L.str.3, 11

	.type	.L.str.4,@object
.L.str.4:
	.asciz	" when calling:\n  `"
	.size	.L.str.4, 19

	.type	.L.str.5,@object
.L.str.5:
	.asciz	"fused_conv_add_relu(v0: Tensor([T.int64(1), T.int64(96), T.int64(112), T.int64(112)], float32), v1: Tensor([T.int64(96), T.int64(1), T.int64(3), T.int64(3)], float32), v3: Tensor([T.int64(1), T.int64(96), T.int64(1), T.int64(1)], float32), relu_intermediate: Tensor([T.int64(1), T.int64(96), T.int64(56), T.int64(56)], float32))"
	.size	.L.str.5, 329

	.type	.L.str.6,@object
.L.str.6:
	.asciz	"`"
	.size	.L.str.6, 2

	.type	.L.str.7,@object
.L.str.7:
	.asciz	"args pointer is NULL"
	.size	.L.str.7, 21

	.type	.L.str.8,@object
.L.str.8:
	.asciz	"Mismatched type on argument #"
	.size	.L.str.8, 30

	.type	.L.str.9,@object
.L.str.9:
	.asciz	"0"
	.size	.L.str.9, 2

	.type	.L.str.10,@object
.L.str.10:
	.asciz	"`,\n  expected "
	.size	.L.str.10, 15

	.type	.L.str.11,@object
.L.str.11:
	.asciz	"Tensor"
	.size	.L.str.11, 7

	.type	.L.str.12,@object
.L.str.12:
	.asciz	"1"
	.size	.L.str.12, 2

	.type	.L.str.13,@object
.L.str.13:
	.asciz	"2"
	.size	.L.str.13, 2

	.type	.L.str.14,@object
.L.str.14:
	.asciz	"3"
	.size	.L.str.14, 2

	.type	.L.str.15,@object
.L.str.15:
	.asciz	"ValueError"
	.size	.L.str.15, 11

	.type	.L.str.16,@object
.L.str.16:
	.asciz	"Mismatched "
	.size	.L.str.16, 12

	.type	.L.str.17,@object
.L.str.17:
	.asciz	"v0"
	.size	.L.str.17, 3

	.type	.L.str.18,@object
.L.str.18:
	.asciz	".ndim on argument #"
	.size	.L.str.18, 20

	.type	.L.str.19,@object
.L.str.19:
	.asciz	".dtype on argument #"
	.size	.L.str.19, 21

	.type	.L.str.20,@object
.L.str.20:
	.asciz	"float32"
	.size	.L.str.20, 8

	.type	.L.str.21,@object
.L.str.21:
	.asciz	".device_type on argument #"
	.size	.L.str.21, 27

	.type	.L.str.22,@object
.L.str.22:
	.asciz	"cpu"
	.size	.L.str.22, 4

	.type	.L.str.23,@object
.L.str.23:
	.asciz	"v1"
	.size	.L.str.23, 3

	.type	.L.str.24,@object
.L.str.24:
	.asciz	"v3"
	.size	.L.str.24, 3

	.type	.L.str.25,@object
.L.str.25:
	.asciz	"relu_intermediate"
	.size	.L.str.25, 18

	.type	.L.str.26,@object
.L.str.26:
	.asciz	".strides on argument #"
	.size	.L.str.26, 23

	.type	.L.str.27,@object
.L.str.27:
	.asciz	"`,\n  expected to be compact array"
	.size	.L.str.27, 34

	.type	.L.str.28,@object
.L.str.28:
	.asciz	" data pointer is NULL on argument #"
	.size	.L.str.28, 36

	.type	.L.str.29,@object
.L.str.29:
	.asciz	"`,\n  expected non-NULL data pointer"
	.size	.L.str.29, 36

	.type	.L.str.30,@object
.L.str.30:
	.asciz	"v1.device_id"
	.size	.L.str.30, 13

	.type	.L.str.31,@object
.L.str.31:
	.asciz	" on argument #"
	.size	.L.str.31, 15

	.type	.L.str.32,@object
.L.str.32:
	.asciz	"`,\n  expected to match "
	.size	.L.str.32, 24

	.type	.L.str.33,@object
.L.str.33:
	.asciz	"v0.device_id"
	.size	.L.str.33, 13

	.type	.L.str.34,@object
.L.str.34:
	.asciz	"v3.device_id"
	.size	.L.str.34, 13

	.type	.L.str.35,@object
.L.str.35:
	.asciz	"relu_intermediate.device_id"
	.size	.L.str.35, 28

	.type	.L.str.36,@object
.L.str.36:
	.asciz	"Invalid "
	.size	.L.str.36, 9

	.type	.L.str.37,@object
.L.str.37:
	.asciz	"v0.shape[0]"
	.size	.L.str.37, 12

	.type	.L.str.38,@object
.L.str.38:
	.asciz	"v0.shape[1]"
	.size	.L.str.38, 12

	.type	.L.str.39,@object
.L.str.39:
	.asciz	"96"
	.size	.L.str.39, 3

	.type	.L.str.40,@object
.L.str.40:
	.asciz	"v0.shape[2]"
	.size	.L.str.40, 12

	.type	.L.str.41,@object
.L.str.41:
	.asciz	"112"
	.size	.L.str.41, 4

	.type	.L.str.42,@object
.L.str.42:
	.asciz	"v0.shape[3]"
	.size	.L.str.42, 12

	.type	.L.str.43,@object
.L.str.43:
	.asciz	"v0.byte_offset"
	.size	.L.str.43, 15

	.type	.L.str.44,@object
.L.str.44:
	.asciz	"v1.shape[0]"
	.size	.L.str.44, 12

	.type	.L.str.45,@object
.L.str.45:
	.asciz	"v1.shape[1]"
	.size	.L.str.45, 12

	.type	.L.str.46,@object
.L.str.46:
	.asciz	"v1.shape[2]"
	.size	.L.str.46, 12

	.type	.L.str.47,@object
.L.str.47:
	.asciz	"v1.shape[3]"
	.size	.L.str.47, 12

	.type	.L.str.48,@object
.L.str.48:
	.asciz	"v1.byte_offset"
	.size	.L.str.48, 15

	.type	.L.str.49,@object
.L.str.49:
	.asciz	"v3.shape[0]"
	.size	.L.str.49, 12

	.type	.L.str.50,@object
.L.str.50:
	.asciz	"v3.shape[1]"
	.size	.L.str.50, 12

	.type	.L.str.51,@object
.L.str.51:
	.asciz	"v3.shape[2]"
	.size	.L.str.51, 12

	.type	.L.str.52,@object
.L.str.52:
	.asciz	"v3.shape[3]"
	.size	.L.str.52, 12

	.type	.L.str.53,@object
.L.str.53:
	.asciz	"v3.byte_offset"
	.size	.L.str.53, 15

	.type	.L.str.54,@object
.L.str.54:
	.asciz	"relu_intermediate.shape[0]"
	.size	.L.str.54, 27

	.type	.L.str.55,@object
.L.str.55:
	.asciz	"relu_intermediate.shape[1]"
	.size	.L.str.55, 27

	.type	.L.str.56,@object
.L.str.56:
	.asciz	"relu_intermediate.shape[2]"
	.size	.L.str.56, 27

	.type	.L.str.57,@object
.L.str.57:
	.asciz	"56"
	.size	.L.str.57, 3

	.type	.L.str.58,@object
.L.str.58:
	.asciz	"relu_intermediate.shape[3]"
	.size	.L.str.58, 27

	.type	.L.str.59,@object
.L.str.59:
	.asciz	"relu_intermediate.byte_offset"
	.size	.L.str.59, 30

	.type	__TVMBackendAllocWorkspace,@object
	.bss
	.weak	__TVMBackendAllocWorkspace
	.p2align	3, 0x0
__TVMBackendAllocWorkspace:
	.quad	0
	.size	__TVMBackendAllocWorkspace, 8

	.type	__TVMBackendFreeWorkspace,@object
	.weak	__TVMBackendFreeWorkspace
	.p2align	3, 0x0
__TVMBackendFreeWorkspace:
	.quad	0
	.size	__TVMBackendFreeWorkspace, 8

	.type	.L.str.61,@object
	.section	.rodata,"a",@progbits
.L.str.61:
	.asciz	"reshape(v2: Tensor([T.int64(96)], float32), T_reshape: Tensor([T.int64(1), T.int64(96), T.int64(1), T.int64(1)], float32))"
	.size	.L.str.61, 123

	.type	.L.str.62,@object
.L.str.62:
	.asciz	"v2"
	.size	.L.str.62, 3

	.type	.L.str.63,@object
.L.str.63:
	.asciz	"T_reshape"
	.size	.L.str.63, 10

	.type	.L.str.64,@object
.L.str.64:
	.asciz	"T_reshape.device_id"
	.size	.L.str.64, 20

	.type	.L.str.65,@object
.L.str.65:
	.asciz	"v2.device_id"
	.size	.L.str.65, 13

	.type	.L.str.66,@object
.L.str.66:
	.asciz	"v2.shape[0]"
	.size	.L.str.66, 12

	.type	.L.str.67,@object
.L.str.67:
	.asciz	"v2.byte_offset"
	.size	.L.str.67, 15

	.type	.L.str.68,@object
.L.str.68:
	.asciz	"T_reshape.shape[0]"
	.size	.L.str.68, 19

	.type	.L.str.69,@object
.L.str.69:
	.asciz	"T_reshape.shape[1]"
	.size	.L.str.69, 19

	.type	.L.str.70,@object
.L.str.70:
	.asciz	"T_reshape.shape[2]"
	.size	.L.str.70, 19

	.type	.L.str.71,@object
.L.str.71:
	.asciz	"T_reshape.shape[3]"
	.size	.L.str.71, 19

	.type	.L.str.72,@object
.L.str.72:
	.asciz	"T_reshape.byte_offset"
	.size	.L.str.72, 22

	.section	.debug_loc,"",@progbits
.Ldebug_loc0:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin0-.Lfunc_begin0
	.quad	.Ltmp60-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp60-.Lfunc_begin0
	.quad	.Ltmp116-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp116-.Lfunc_begin0
	.quad	.Ltmp117-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp117-.Lfunc_begin0
	.quad	.Ltmp118-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp118-.Lfunc_begin0
	.quad	.Ltmp119-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp119-.Lfunc_begin0
	.quad	.Ltmp120-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp120-.Lfunc_begin0
	.quad	.Ltmp121-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp121-.Lfunc_begin0
	.quad	.Ltmp122-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp122-.Lfunc_begin0
	.quad	.Ltmp123-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp123-.Lfunc_begin0
	.quad	.Ltmp125-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp125-.Lfunc_begin0
	.quad	.Ltmp126-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp126-.Lfunc_begin0
	.quad	.Ltmp129-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp129-.Lfunc_begin0
	.quad	.Ltmp130-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp130-.Lfunc_begin0
	.quad	.Ltmp134-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp134-.Lfunc_begin0
	.quad	.Ltmp135-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp135-.Lfunc_begin0
	.quad	.Ltmp136-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp136-.Lfunc_begin0
	.quad	.Ltmp137-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp137-.Lfunc_begin0
	.quad	.Ltmp138-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp138-.Lfunc_begin0
	.quad	.Ltmp139-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp139-.Lfunc_begin0
	.quad	.Ltmp140-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp140-.Lfunc_begin0
	.quad	.Ltmp141-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp141-.Lfunc_begin0
	.quad	.Ltmp142-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp142-.Lfunc_begin0
	.quad	.Ltmp143-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp143-.Lfunc_begin0
	.quad	.Ltmp144-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp144-.Lfunc_begin0
	.quad	.Ltmp145-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp145-.Lfunc_begin0
	.quad	.Ltmp146-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp146-.Lfunc_begin0
	.quad	.Ltmp147-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp147-.Lfunc_begin0
	.quad	.Ltmp148-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp148-.Lfunc_begin0
	.quad	.Ltmp149-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp149-.Lfunc_begin0
	.quad	.Ltmp150-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp150-.Lfunc_begin0
	.quad	.Ltmp151-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp151-.Lfunc_begin0
	.quad	.Ltmp152-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp152-.Lfunc_begin0
	.quad	.Ltmp153-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp153-.Lfunc_begin0
	.quad	.Ltmp154-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp154-.Lfunc_begin0
	.quad	.Ltmp155-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp155-.Lfunc_begin0
	.quad	.Ltmp156-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp156-.Lfunc_begin0
	.quad	.Ltmp157-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp157-.Lfunc_begin0
	.quad	.Lfunc_end0-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc1:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin0-.Lfunc_begin0
	.quad	.Ltmp59-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp59-.Lfunc_begin0
	.quad	.Ltmp116-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	.Ltmp116-.Lfunc_begin0
	.quad	.Ltmp133-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp133-.Lfunc_begin0
	.quad	.Ltmp134-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	.Ltmp134-.Lfunc_begin0
	.quad	.Ltmp158-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Lfunc_end0-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc2:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin0-.Lfunc_begin0
	.quad	.Ltmp9-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp9-.Lfunc_begin0
	.quad	.Ltmp10-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	.Ltmp10-.Lfunc_begin0
	.quad	.Ltmp19-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp19-.Lfunc_begin0
	.quad	.Ltmp125-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	.Ltmp125-.Lfunc_begin0
	.quad	.Ltmp127-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp127-.Lfunc_begin0
	.quad	.Ltmp129-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	.Ltmp129-.Lfunc_begin0
	.quad	.Ltmp131-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp131-.Lfunc_begin0
	.quad	.Lfunc_end0-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc3:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin0-.Lfunc_begin0
	.quad	.Ltmp6-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp6-.Lfunc_begin0
	.quad	.Ltmp10-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	.Ltmp10-.Lfunc_begin0
	.quad	.Ltmp12-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp12-.Lfunc_begin0
	.quad	.Ltmp125-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	.Ltmp125-.Lfunc_begin0
	.quad	.Ltmp128-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp128-.Lfunc_begin0
	.quad	.Ltmp129-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	.Ltmp129-.Lfunc_begin0
	.quad	.Ltmp132-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp132-.Lfunc_begin0
	.quad	.Lfunc_end0-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc4:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp2-.Lfunc_begin0
	.quad	.Ltmp5-.Lfunc_begin0
	.short	1
	.byte	80
	.quad	.Ltmp10-.Lfunc_begin0
	.quad	.Ltmp14-.Lfunc_begin0
	.short	1
	.byte	80
	.quad	0
	.quad	0
.Ldebug_loc5:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp6-.Lfunc_begin0
	.quad	.Ltmp7-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	0
	.quad	0
.Ldebug_loc6:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp18-.Lfunc_begin0
	.quad	.Ltmp19-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	0
	.quad	0
.Ldebug_loc7:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp25-.Lfunc_begin0
	.quad	.Ltmp26-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	0
	.quad	0
.Ldebug_loc8:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp58-.Lfunc_begin0
	.quad	.Ltmp113-.Lfunc_begin0
	.short	2
	.byte	124
	.byte	0
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp199-.Lfunc_begin0
	.short	2
	.byte	124
	.byte	0
	.quad	.Ltmp202-.Lfunc_begin0
	.quad	.Ltmp226-.Lfunc_begin0
	.short	2
	.byte	124
	.byte	0
	.quad	.Ltmp227-.Lfunc_begin0
	.quad	.Ltmp249-.Lfunc_begin0
	.short	2
	.byte	124
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc9:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp59-.Lfunc_begin0
	.quad	.Ltmp71-.Lfunc_begin0
	.short	2
	.byte	116
	.byte	0
	.quad	.Ltmp163-.Lfunc_begin0
	.quad	.Ltmp168-.Lfunc_begin0
	.short	2
	.byte	116
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc10:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp60-.Lfunc_begin0
	.quad	.Ltmp116-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp159-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp163-.Lfunc_begin0
	.quad	.Ltmp164-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp168-.Lfunc_begin0
	.quad	.Ltmp169-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp172-.Lfunc_begin0
	.quad	.Ltmp173-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp177-.Lfunc_begin0
	.quad	.Ltmp178-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp181-.Lfunc_begin0
	.quad	.Ltmp182-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp185-.Lfunc_begin0
	.quad	.Ltmp186-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp188-.Lfunc_begin0
	.quad	.Ltmp189-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp191-.Lfunc_begin0
	.quad	.Ltmp192-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp193-.Lfunc_begin0
	.quad	.Ltmp194-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp197-.Lfunc_begin0
	.quad	.Ltmp198-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp202-.Lfunc_begin0
	.quad	.Ltmp203-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp204-.Lfunc_begin0
	.quad	.Ltmp205-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp206-.Lfunc_begin0
	.quad	.Ltmp207-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp208-.Lfunc_begin0
	.quad	.Ltmp209-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp211-.Lfunc_begin0
	.quad	.Ltmp212-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp213-.Lfunc_begin0
	.quad	.Ltmp214-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp215-.Lfunc_begin0
	.quad	.Ltmp216-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp219-.Lfunc_begin0
	.quad	.Ltmp220-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp221-.Lfunc_begin0
	.quad	.Ltmp222-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp223-.Lfunc_begin0
	.quad	.Ltmp224-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp227-.Lfunc_begin0
	.quad	.Ltmp228-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp229-.Lfunc_begin0
	.quad	.Ltmp230-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp231-.Lfunc_begin0
	.quad	.Ltmp232-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp233-.Lfunc_begin0
	.quad	.Ltmp234-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp235-.Lfunc_begin0
	.quad	.Ltmp236-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp238-.Lfunc_begin0
	.quad	.Ltmp239-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp240-.Lfunc_begin0
	.quad	.Ltmp241-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp242-.Lfunc_begin0
	.quad	.Ltmp243-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp244-.Lfunc_begin0
	.quad	.Ltmp245-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp246-.Lfunc_begin0
	.quad	.Ltmp247-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	0
	.quad	0
.Ldebug_loc11:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp61-.Lfunc_begin0
	.quad	.Ltmp115-.Lfunc_begin0
	.short	2
	.byte	127
	.byte	0
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp199-.Lfunc_begin0
	.short	2
	.byte	127
	.byte	0
	.quad	.Ltmp202-.Lfunc_begin0
	.quad	.Ltmp226-.Lfunc_begin0
	.short	2
	.byte	127
	.byte	0
	.quad	.Ltmp227-.Lfunc_begin0
	.quad	.Ltmp249-.Lfunc_begin0
	.short	2
	.byte	127
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc12:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp62-.Lfunc_begin0
	.quad	.Ltmp78-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp160-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp163-.Lfunc_begin0
	.quad	.Ltmp165-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp168-.Lfunc_begin0
	.quad	.Ltmp170-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp172-.Lfunc_begin0
	.quad	.Ltmp174-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc13:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp63-.Lfunc_begin0
	.quad	.Ltmp114-.Lfunc_begin0
	.short	2
	.byte	126
	.byte	0
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp199-.Lfunc_begin0
	.short	2
	.byte	126
	.byte	0
	.quad	.Ltmp202-.Lfunc_begin0
	.quad	.Ltmp226-.Lfunc_begin0
	.short	2
	.byte	126
	.byte	0
	.quad	.Ltmp227-.Lfunc_begin0
	.quad	.Ltmp249-.Lfunc_begin0
	.short	2
	.byte	126
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc14:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp64-.Lfunc_begin0
	.quad	.Ltmp83-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp161-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp163-.Lfunc_begin0
	.quad	.Ltmp166-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp168-.Lfunc_begin0
	.quad	.Ltmp171-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp172-.Lfunc_begin0
	.quad	.Ltmp175-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp177-.Lfunc_begin0
	.quad	.Ltmp179-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp181-.Lfunc_begin0
	.quad	.Ltmp183-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp185-.Lfunc_begin0
	.quad	.Ltmp187-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc15:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp65-.Lfunc_begin0
	.quad	.Ltmp112-.Lfunc_begin0
	.short	2
	.byte	115
	.byte	0
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp199-.Lfunc_begin0
	.short	2
	.byte	115
	.byte	0
	.quad	.Ltmp202-.Lfunc_begin0
	.quad	.Ltmp226-.Lfunc_begin0
	.short	2
	.byte	115
	.byte	0
	.quad	.Ltmp227-.Lfunc_begin0
	.quad	.Ltmp249-.Lfunc_begin0
	.short	2
	.byte	115
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc16:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp66-.Lfunc_begin0
	.quad	.Ltmp90-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp158-.Lfunc_begin0
	.quad	.Ltmp162-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp163-.Lfunc_begin0
	.quad	.Ltmp167-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp168-.Lfunc_begin0
	.quad	.Ltmp176-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp177-.Lfunc_begin0
	.quad	.Ltmp180-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp181-.Lfunc_begin0
	.quad	.Ltmp184-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp185-.Lfunc_begin0
	.quad	.Ltmp190-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp191-.Lfunc_begin0
	.quad	.Ltmp195-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc17:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin1-.Lfunc_begin0
	.quad	.Ltmp288-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp288-.Lfunc_begin0
	.quad	.Ltmp309-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp309-.Lfunc_begin0
	.quad	.Ltmp310-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp310-.Lfunc_begin0
	.quad	.Ltmp311-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp311-.Lfunc_begin0
	.quad	.Ltmp312-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp312-.Lfunc_begin0
	.quad	.Ltmp314-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp314-.Lfunc_begin0
	.quad	.Ltmp315-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp315-.Lfunc_begin0
	.quad	.Ltmp318-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp318-.Lfunc_begin0
	.quad	.Ltmp319-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp319-.Lfunc_begin0
	.quad	.Ltmp323-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp323-.Lfunc_begin0
	.quad	.Ltmp324-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp324-.Lfunc_begin0
	.quad	.Ltmp325-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp325-.Lfunc_begin0
	.quad	.Ltmp326-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp326-.Lfunc_begin0
	.quad	.Ltmp327-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp327-.Lfunc_begin0
	.quad	.Ltmp328-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp328-.Lfunc_begin0
	.quad	.Ltmp329-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp329-.Lfunc_begin0
	.quad	.Ltmp330-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp330-.Lfunc_begin0
	.quad	.Ltmp331-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp331-.Lfunc_begin0
	.quad	.Ltmp332-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp332-.Lfunc_begin0
	.quad	.Ltmp333-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp333-.Lfunc_begin0
	.quad	.Ltmp334-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp334-.Lfunc_begin0
	.quad	.Lfunc_end1-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc18:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin1-.Lfunc_begin0
	.quad	.Ltmp289-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp289-.Lfunc_begin0
	.quad	.Ltmp309-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	.Ltmp309-.Lfunc_begin0
	.quad	.Ltmp322-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp322-.Lfunc_begin0
	.quad	.Ltmp323-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	.Ltmp323-.Lfunc_begin0
	.quad	.Ltmp335-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp335-.Lfunc_begin0
	.quad	.Lfunc_end1-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc19:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin1-.Lfunc_begin0
	.quad	.Ltmp264-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp264-.Lfunc_begin0
	.quad	.Ltmp265-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	.Ltmp265-.Lfunc_begin0
	.quad	.Ltmp273-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp273-.Lfunc_begin0
	.quad	.Ltmp314-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	.Ltmp314-.Lfunc_begin0
	.quad	.Ltmp316-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp316-.Lfunc_begin0
	.quad	.Ltmp318-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	.Ltmp318-.Lfunc_begin0
	.quad	.Ltmp320-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp320-.Lfunc_begin0
	.quad	.Lfunc_end1-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc20:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin1-.Lfunc_begin0
	.quad	.Ltmp261-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp261-.Lfunc_begin0
	.quad	.Ltmp265-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	.Ltmp265-.Lfunc_begin0
	.quad	.Ltmp267-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp267-.Lfunc_begin0
	.quad	.Ltmp314-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	.Ltmp314-.Lfunc_begin0
	.quad	.Ltmp317-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp317-.Lfunc_begin0
	.quad	.Ltmp318-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	.Ltmp318-.Lfunc_begin0
	.quad	.Ltmp321-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp321-.Lfunc_begin0
	.quad	.Lfunc_end1-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc21:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp257-.Lfunc_begin0
	.quad	.Ltmp260-.Lfunc_begin0
	.short	1
	.byte	80
	.quad	.Ltmp265-.Lfunc_begin0
	.quad	.Ltmp269-.Lfunc_begin0
	.short	1
	.byte	80
	.quad	0
	.quad	0
.Ldebug_loc22:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp261-.Lfunc_begin0
	.quad	.Ltmp262-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	0
	.quad	0
.Ldebug_loc23:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp287-.Lfunc_begin0
	.quad	.Ltmp308-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp335-.Lfunc_begin0
	.quad	.Ltmp338-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp340-.Lfunc_begin0
	.quad	.Ltmp342-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp343-.Lfunc_begin0
	.quad	.Ltmp345-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp348-.Lfunc_begin0
	.quad	.Ltmp352-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp355-.Lfunc_begin0
	.quad	.Ltmp357-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp358-.Lfunc_begin0
	.quad	.Ltmp373-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	.Ltmp375-.Lfunc_begin0
	.quad	.Ltmp378-.Lfunc_begin0
	.short	2
	.byte	120
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc24:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp288-.Lfunc_begin0
	.quad	.Ltmp294-.Lfunc_begin0
	.short	2
	.byte	117
	.byte	0
	.quad	.Ltmp335-.Lfunc_begin0
	.quad	.Ltmp336-.Lfunc_begin0
	.short	2
	.byte	117
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc25:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp289-.Lfunc_begin0
	.quad	.Ltmp299-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp335-.Lfunc_begin0
	.quad	.Ltmp347-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp348-.Lfunc_begin0
	.quad	.Ltmp350-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	0
	.quad	0
.Ldebug_loc26:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp290-.Lfunc_begin0
	.quad	.Ltmp308-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp335-.Lfunc_begin0
	.quad	.Ltmp337-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp340-.Lfunc_begin0
	.quad	.Ltmp341-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp343-.Lfunc_begin0
	.quad	.Ltmp344-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp348-.Lfunc_begin0
	.quad	.Ltmp349-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp350-.Lfunc_begin0
	.quad	.Ltmp351-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp355-.Lfunc_begin0
	.quad	.Ltmp356-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp358-.Lfunc_begin0
	.quad	.Ltmp360-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp361-.Lfunc_begin0
	.quad	.Ltmp363-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp364-.Lfunc_begin0
	.quad	.Ltmp365-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp366-.Lfunc_begin0
	.quad	.Ltmp368-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp369-.Lfunc_begin0
	.quad	.Ltmp371-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	.Ltmp375-.Lfunc_begin0
	.quad	.Ltmp376-.Lfunc_begin0
	.short	2
	.byte	113
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc27:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp291-.Lfunc_begin0
	.quad	.Ltmp308-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp335-.Lfunc_begin0
	.quad	.Ltmp339-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp340-.Lfunc_begin0
	.quad	.Ltmp346-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp348-.Lfunc_begin0
	.quad	.Ltmp352-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp355-.Lfunc_begin0
	.quad	.Ltmp357-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp358-.Lfunc_begin0
	.quad	.Ltmp359-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp361-.Lfunc_begin0
	.quad	.Ltmp362-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp364-.Lfunc_begin0
	.quad	.Ltmp367-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp369-.Lfunc_begin0
	.quad	.Ltmp370-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	.Ltmp375-.Lfunc_begin0
	.quad	.Ltmp378-.Lfunc_begin0
	.short	2
	.byte	121
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc28:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin4-.Lfunc_begin0
	.quad	.Ltmp388-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp388-.Lfunc_begin0
	.quad	.Ltmp394-.Lfunc_begin0
	.short	1
	.byte	83
	.quad	.Ltmp394-.Lfunc_begin0
	.quad	.Ltmp397-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	85
	.byte	159
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	1
	.byte	83
	.quad	0
	.quad	0
.Ldebug_loc29:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin4-.Lfunc_begin0
	.quad	.Ltmp389-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp389-.Lfunc_begin0
	.quad	.Ltmp393-.Lfunc_begin0
	.short	1
	.byte	86
	.quad	.Ltmp393-.Lfunc_begin0
	.quad	.Ltmp397-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Ltmp398-.Lfunc_begin0
	.short	1
	.byte	86
	.quad	.Ltmp398-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	84
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc30:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin4-.Lfunc_begin0
	.quad	.Ltmp387-.Lfunc_begin0
	.short	1
	.byte	81
	.quad	.Ltmp387-.Lfunc_begin0
	.quad	.Ltmp395-.Lfunc_begin0
	.short	1
	.byte	92
	.quad	.Ltmp395-.Lfunc_begin0
	.quad	.Ltmp397-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	81
	.byte	159
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	1
	.byte	92
	.quad	0
	.quad	0
.Ldebug_loc31:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin4-.Lfunc_begin0
	.quad	.Ltmp390-.Lfunc_begin0
	.short	1
	.byte	82
	.quad	.Ltmp390-.Lfunc_begin0
	.quad	.Ltmp393-.Lfunc_begin0
	.short	1
	.byte	94
	.quad	.Ltmp393-.Lfunc_begin0
	.quad	.Ltmp397-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Ltmp401-.Lfunc_begin0
	.short	1
	.byte	94
	.quad	.Ltmp401-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	82
	.byte	159
	.quad	0
	.quad	0
.Ldebug_loc32:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin4-.Lfunc_begin0
	.quad	.Ltmp391-.Lfunc_begin0
	.short	1
	.byte	88
	.quad	.Ltmp391-.Lfunc_begin0
	.quad	.Ltmp396-.Lfunc_begin0
	.short	1
	.byte	95
	.quad	.Ltmp396-.Lfunc_begin0
	.quad	.Ltmp397-.Lfunc_begin0
	.short	4
	.byte	243
	.byte	1
	.byte	88
	.byte	159
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	1
	.byte	95
	.quad	0
	.quad	0
.Ldebug_loc33:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp382-.Lfunc_begin0
	.quad	.Ltmp396-.Lfunc_begin0
	.short	2
	.byte	127
	.byte	0
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	2
	.byte	127
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc34:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp383-.Lfunc_begin0
	.quad	.Ltmp393-.Lfunc_begin0
	.short	2
	.byte	126
	.byte	0
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Ltmp401-.Lfunc_begin0
	.short	2
	.byte	126
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc35:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp384-.Lfunc_begin0
	.quad	.Ltmp395-.Lfunc_begin0
	.short	2
	.byte	124
	.byte	0
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	2
	.byte	124
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc36:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp385-.Lfunc_begin0
	.quad	.Ltmp393-.Lfunc_begin0
	.short	2
	.byte	118
	.byte	0
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Ltmp398-.Lfunc_begin0
	.short	2
	.byte	118
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc37:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Ltmp392-.Lfunc_begin0
	.quad	.Ltmp393-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp397-.Lfunc_begin0
	.quad	.Ltmp399-.Lfunc_begin0
	.short	2
	.byte	114
	.byte	0
	.quad	.Ltmp399-.Lfunc_begin0
	.quad	.Lfunc_end4-.Lfunc_begin0
	.short	2
	.byte	125
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc38:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin7-.Lfunc_begin0
	.quad	.Ltmp405-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	.Ltmp405-.Lfunc_begin0
	.quad	.Ltmp407-.Lfunc_begin0
	.short	1
	.byte	80
	.quad	0
	.quad	0
.Ldebug_loc39:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin7-.Lfunc_begin0
	.quad	.Ltmp406-.Lfunc_begin0
	.short	1
	.byte	84
	.quad	.Ltmp406-.Lfunc_begin0
	.quad	.Ltmp407-.Lfunc_begin0
	.short	1
	.byte	85
	.quad	0
	.quad	0
.Ldebug_loc40:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin7-.Lfunc_begin0
	.quad	.Ltmp405-.Lfunc_begin0
	.short	2
	.byte	117
	.byte	0
	.quad	.Ltmp405-.Lfunc_begin0
	.quad	.Ltmp407-.Lfunc_begin0
	.short	2
	.byte	112
	.byte	0
	.quad	0
	.quad	0
.Ldebug_loc41:
	.quad	-1
	.quad	.Lfunc_begin0
	.quad	.Lfunc_begin7-.Lfunc_begin0
	.quad	.Ltmp406-.Lfunc_begin0
	.short	2
	.byte	116
	.byte	0
	.quad	.Ltmp406-.Lfunc_begin0
	.quad	.Ltmp407-.Lfunc_begin0
	.short	2
	.byte	117
	.byte	0
	.quad	0
	.quad	0
	.section	.debug_abbrev,"",@progbits
	.byte	1
	.byte	17
	.byte	1
	.byte	37
	.byte	14
	.byte	19
	.byte	5
	.byte	3
	.byte	14
	.byte	16
	.byte	23
	.byte	27
	.byte	14
	.ascii	"\264B"
	.byte	25
	.byte	17
	.byte	1
	.byte	85
	.byte	23
	.byte	0
	.byte	0
	.byte	2
	.byte	46
	.byte	1
	.byte	17
	.byte	1
	.byte	18
	.byte	6
	.byte	64
	.byte	24
	.byte	3
	.byte	14
	.byte	39
	.byte	25
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	3
	.byte	5
	.byte	0
	.byte	2
	.byte	23
	.byte	3
	.byte	14
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	4
	.byte	52
	.byte	0
	.byte	2
	.byte	23
	.byte	3
	.byte	14
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	5
	.byte	46
	.byte	1
	.byte	17
	.byte	1
	.byte	18
	.byte	6
	.byte	64
	.byte	24
	.byte	3
	.byte	14
	.byte	39
	.byte	25
	.byte	54
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	6
	.byte	52
	.byte	0
	.byte	28
	.byte	13
	.byte	3
	.byte	14
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	7
	.byte	36
	.byte	0
	.byte	3
	.byte	14
	.byte	62
	.byte	11
	.byte	11
	.byte	11
	.byte	0
	.byte	0
	.byte	8
	.byte	15
	.byte	0
	.byte	0
	.byte	0
	.byte	9
	.byte	15
	.byte	0
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.long	.Ldebug_info_end0-.Ldebug_info_start0
.Ldebug_info_start0:
	.short	4
	.long	.debug_abbrev
	.byte	8
	.byte	1
	.long	.Linfo_string0
	.short	2
	.long	.Linfo_string1
	.long	.Lline_table_start0
	.long	.Linfo_string2

	.quad	0
	.long	.Ldebug_ranges0
	.byte	2
	.quad	.Lfunc_begin0
	.long	.Lfunc_end0-.Lfunc_begin0
	.byte	4
	.byte	156
	.byte	17
	.byte	80
	.byte	34
	.long	.Linfo_string3

	.long	701
	.byte	3
	.long	.Ldebug_loc0
	.long	.Linfo_string8
	.long	708
	.byte	3
	.long	.Ldebug_loc1
	.long	.Linfo_string9
	.long	708
	.byte	3
	.long	.Ldebug_loc2
	.long	.Linfo_string10
	.long	701
	.byte	3
	.long	.Ldebug_loc3
	.long	.Linfo_string11
	.long	708
	.byte	4
	.long	.Ldebug_loc4
	.long	.Linfo_string12
	.long	701
	.byte	4
	.long	.Ldebug_loc5
	.long	.Linfo_string13
	.long	701
	.byte	4
	.long	.Ldebug_loc6
	.long	.Linfo_string14
	.long	701
	.byte	4
	.long	.Ldebug_loc7
	.long	.Linfo_string15
	.long	701
	.byte	4
	.long	.Ldebug_loc8
	.long	.Linfo_string16
	.long	709
	.byte	4
	.long	.Ldebug_loc9
	.long	.Linfo_string18
	.long	709
	.byte	4
	.long	.Ldebug_loc10
	.long	.Linfo_string19
	.long	701
	.byte	4
	.long	.Ldebug_loc11
	.long	.Linfo_string20
	.long	709
	.byte	4
	.long	.Ldebug_loc12
	.long	.Linfo_string21
	.long	709
	.byte	4
	.long	.Ldebug_loc13
	.long	.Linfo_string22
	.long	709
	.byte	4
	.long	.Ldebug_loc14
	.long	.Linfo_string23
	.long	709
	.byte	4
	.long	.Ldebug_loc15
	.long	.Linfo_string24
	.long	709
	.byte	4
	.long	.Ldebug_loc16
	.long	.Linfo_string25
	.long	709
	.byte	0
	.byte	2
	.quad	.Lfunc_begin1
	.long	.Lfunc_end1-.Lfunc_begin1
	.byte	4
	.byte	156
	.byte	17
	.byte	112
	.byte	34
	.long	.Linfo_string5

	.long	701
	.byte	3
	.long	.Ldebug_loc17
	.long	.Linfo_string8
	.long	708
	.byte	3
	.long	.Ldebug_loc18
	.long	.Linfo_string9
	.long	708
	.byte	3
	.long	.Ldebug_loc19
	.long	.Linfo_string10
	.long	701
	.byte	3
	.long	.Ldebug_loc20
	.long	.Linfo_string11
	.long	708
	.byte	4
	.long	.Ldebug_loc21
	.long	.Linfo_string26
	.long	701
	.byte	4
	.long	.Ldebug_loc22
	.long	.Linfo_string27
	.long	701
	.byte	4
	.long	.Ldebug_loc23
	.long	.Linfo_string28
	.long	709
	.byte	4
	.long	.Ldebug_loc24
	.long	.Linfo_string29
	.long	709
	.byte	4
	.long	.Ldebug_loc25
	.long	.Linfo_string19
	.long	701
	.byte	4
	.long	.Ldebug_loc26
	.long	.Linfo_string30
	.long	709
	.byte	4
	.long	.Ldebug_loc27
	.long	.Linfo_string31
	.long	709
	.byte	0
	.byte	2
	.quad	.Lfunc_begin4
	.long	.Lfunc_end4-.Lfunc_begin4
	.byte	1
	.byte	87
	.long	.Linfo_string6

	.long	701
	.byte	3
	.long	.Ldebug_loc28
	.long	.Linfo_string19
	.long	701
	.byte	3
	.long	.Ldebug_loc29
	.long	.Linfo_string32
	.long	721
	.byte	3
	.long	.Ldebug_loc30
	.long	.Linfo_string34
	.long	721
	.byte	3
	.long	.Ldebug_loc31
	.long	.Linfo_string35
	.long	721
	.byte	3
	.long	.Ldebug_loc32
	.long	.Linfo_string36
	.long	721
	.byte	4
	.long	.Ldebug_loc33
	.long	.Linfo_string36
	.long	721
	.byte	4
	.long	.Ldebug_loc34
	.long	.Linfo_string35
	.long	721
	.byte	4
	.long	.Ldebug_loc35
	.long	.Linfo_string34
	.long	721
	.byte	4
	.long	.Ldebug_loc36
	.long	.Linfo_string32
	.long	721
	.byte	4
	.long	.Ldebug_loc37
	.long	.Linfo_string37
	.long	721
	.byte	0
	.byte	5
	.quad	.Lfunc_begin7
	.long	.Lfunc_end7-.Lfunc_begin7
	.byte	1
	.byte	87
	.long	.Linfo_string7

	.byte	3
	.long	701
	.byte	3
	.long	.Ldebug_loc38
	.long	.Linfo_string38
	.long	721
	.byte	3
	.long	.Ldebug_loc39
	.long	.Linfo_string39
	.long	721
	.byte	4
	.long	.Ldebug_loc40
	.long	.Linfo_string38
	.long	721
	.byte	4
	.long	.Ldebug_loc41
	.long	.Linfo_string39
	.long	721
	.byte	6
	.byte	0
	.long	.Linfo_string40
	.long	701
	.byte	0
	.byte	7
	.long	.Linfo_string4
	.byte	5
	.byte	4
	.byte	8
	.byte	9
	.long	714
	.byte	7
	.long	.Linfo_string17
	.byte	5
	.byte	8
	.byte	9
	.long	726
	.byte	7
	.long	.Linfo_string33
	.byte	4
	.byte	4
	.byte	0
.Ldebug_info_end0:
	.section	.debug_ranges,"",@progbits
.Ldebug_ranges0:
	.quad	.Lfunc_begin0
	.quad	.Lfunc_end1
	.quad	.Lfunc_begin4
	.quad	.Lfunc_end4
	.quad	.Lfunc_begin7
	.quad	.Lfunc_end7
	.quad	0
	.quad	0
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"TVM"
.Linfo_string1:
	.asciz	"IRModule.CodeGenLLVM"
.Linfo_string2:
	.asciz	"."
.Linfo_string3:
	.asciz	"__tvm_ffi_fused_conv_add_relu"
.Linfo_string4:
	.asciz	"int32"
.Linfo_string5:
	.asciz	"__tvm_ffi_reshape"
.Linfo_string6:
	.asciz	"fused_conv_add_relu_compute_"
.Linfo_string7:
	.asciz	"reshape_compute_"
.Linfo_string8:
	.asciz	"self_handle"
.Linfo_string9:
	.asciz	"args"
.Linfo_string10:
	.asciz	"num_args"
.Linfo_string11:
	.asciz	"result"
.Linfo_string12:
	.asciz	"v0.type_index"
.Linfo_string13:
	.asciz	"v1.type_index"
.Linfo_string14:
	.asciz	"v3.type_index"
.Linfo_string15:
	.asciz	"relu_intermediate.type_index"
.Linfo_string16:
	.asciz	"fused_conv_add_relu.v0_shape"
.Linfo_string17:
	.asciz	"int64"
.Linfo_string18:
	.asciz	"fused_conv_add_relu.v0_strides"
.Linfo_string19:
	.asciz	"dev_id"
.Linfo_string20:
	.asciz	"fused_conv_add_relu.v1_shape"
.Linfo_string21:
	.asciz	"fused_conv_add_relu.v1_strides"
.Linfo_string22:
	.asciz	"fused_conv_add_relu.v3_shape"
.Linfo_string23:
	.asciz	"fused_conv_add_relu.v3_strides"
.Linfo_string24:
	.asciz	"fused_conv_add_relu.relu_intermediate_shape"
.Linfo_string25:
	.asciz	"fused_conv_add_relu.relu_intermediate_strides"
.Linfo_string26:
	.asciz	"v2.type_index"
.Linfo_string27:
	.asciz	"T_reshape.type_index"
.Linfo_string28:
	.asciz	"reshape.v2_shape"
.Linfo_string29:
	.asciz	"reshape.v2_strides"
.Linfo_string30:
	.asciz	"reshape.T_reshape_shape"
.Linfo_string31:
	.asciz	"reshape.T_reshape_strides"
.Linfo_string32:
	.asciz	"v0"
.Linfo_string33:
	.asciz	"float32"
.Linfo_string34:
	.asciz	"v1"
.Linfo_string35:
	.asciz	"v3"
.Linfo_string36:
	.asciz	"relu_intermediate"
.Linfo_string37:
	.asciz	"pad"
.Linfo_string38:
	.asciz	"v2"
.Linfo_string39:
	.asciz	"T_reshape"
.Linfo_string40:
	.asciz	"ax1"
	.section	.debug_pubnames,"",@progbits
	.long	.LpubNames_end0-.LpubNames_start0
.LpubNames_start0:
	.short	2
	.long	.Lcu_begin0
	.long	734
	.long	42
	.asciz	"__tvm_ffi_fused_conv_add_relu"
	.long	290
	.asciz	"__tvm_ffi_reshape"
	.long	460
	.asciz	"fused_conv_add_relu_compute_"
	.long	614
	.asciz	"reshape_compute_"
	.long	0
.LpubNames_end0:
	.section	.debug_pubtypes,"",@progbits
	.long	.LpubTypes_end0-.LpubTypes_start0
.LpubTypes_start0:
	.short	2
	.long	.Lcu_begin0
	.long	734
	.long	701
	.asciz	"int32"
	.long	714
	.asciz	"int64"
	.long	726
	.asciz	"float32"
	.long	0
.LpubTypes_end0:
	.section	".note.GNU-stack","",@progbits
	.section	.debug_line,"",@progbits
.Lline_table_start0:
